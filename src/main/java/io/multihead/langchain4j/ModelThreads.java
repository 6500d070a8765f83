package io.multihead.langchain4j;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a model.
 *
 * @param cpu the threads
 * @param areOwn whether they end with the model, or are those of a Compute of the caller's
 */
record ModelThreads(Compute cpu, boolean areOwn) implements AutoCloseable {
    /** Ends threads of the model's own. */
    @Override
    public void close() {
        if (areOwn) {
            cpu.close();
        }
    }

    /** What a builder is told of threads; without a word, the calling thread alone. */
    static final class Choice {
        private @Nullable Compute compute;
        private int threads = 1;

        void own(int newThreads) {
            threads = (int) Checks.atLeast(newThreads, 1, "threads");
            compute = null;
        }

        void of(Compute newCompute) {
            compute = Checks.notNull(newCompute, "compute");
        }

        ModelThreads open() {
            return compute == null
                    ? new ModelThreads(Compute.threads(threads), true)
                    : new ModelThreads(compute, false);
        }
    }
}

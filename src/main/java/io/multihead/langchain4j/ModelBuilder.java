package io.multihead.langchain4j;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/**
 * The common part of all builders of models: threads, and a model that closes them. Not thread-safe.
 *
 * @param <M> the model
 * @param <B> the builder
 */
abstract class ModelBuilder<M, B extends ModelBuilder<M, B>> {
    private @Nullable Compute compute;
    private int threads = 1;

    ModelBuilder() {}

    /** Returns this builder. */
    abstract B self();

    /** Loads the model, which then owns the threads. */
    abstract M load(ModelThreads open) throws IOException;

    /**
     * Computes on the calling thread and on threads of the model. Without it, the model computes only on the calling thread.
     *
     * @param newThreads the number of threads that work on one request, including the caller; at least 1
     * @return this
     */
    public B threads(int newThreads) {
        threads = (int) Checks.atLeast(newThreads, 1, "threads");
        compute = null;
        return self();
    }

    /**
     * Computes on the threads of a Compute that the caller owns.
     *
     * @param newCompute the Compute, which the caller closes
     * @return this
     */
    public B compute(Compute newCompute) {
        compute = Checks.notNull(newCompute, "compute");
        return self();
    }

    /** Loads the model. If this fails, the model's own threads are ended. */
    final M open() {
        ModelThreads open =
                compute == null ? new ModelThreads(Compute.threads(threads), true) : new ModelThreads(compute, false);
        try {
            return load(open);
        } catch (IOException e) {
            open.close();
            throw new UncheckedIOException(e);
        } catch (Throwable failed) {
            open.close();
            throw failed;
        }
    }
}

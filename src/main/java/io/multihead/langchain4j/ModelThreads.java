package io.multihead.langchain4j;

import io.multihead.compute.Compute;

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
}

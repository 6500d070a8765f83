package io.multihead.langchain4j;

import io.multihead.compute.Compute;

/**
 * The threads of a model.
 *
 * @param cpu the threads
 * @param areOwn whether they end with the model, or belong to a Compute of the caller
 */
record ModelThreads(Compute cpu, boolean areOwn) implements AutoCloseable {
    /** Ends threads that belong to the model. */
    @Override
    public void close() {
        if (areOwn) {
            cpu.close();
        }
    }
}

package io.multihead.langchain4j;

import io.multihead.compute.Compute;

/**
 * The threads of a model.
 *
 * @param cpu the threads
 * @param areOwn whether the model owns the threads and ends them; false if the caller owns the Compute
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

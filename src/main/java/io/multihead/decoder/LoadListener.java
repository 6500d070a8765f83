package io.multihead.decoder;

/** Receives the progress of loading a model. */
@FunctionalInterface
public interface LoadListener {
    /** A listener that does nothing. */
    LoadListener NONE = (done, all) -> {};

    /**
     * Receives the progress after each layer. The thread that loads the model makes this call.
     *
     * @param done the number of loaded layers and tables
     * @param all the number of layers and tables of the model
     */
    void onPart(int done, int all);
}

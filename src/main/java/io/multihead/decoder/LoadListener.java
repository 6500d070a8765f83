package io.multihead.decoder;

/** Receives the progress of loading a model. */
@FunctionalInterface
public interface LoadListener {
    /** A listener that does nothing. */
    LoadListener NONE = (done, all) -> {};

    /**
     * Is called on the thread that loads, after each layer.
     *
     * @param done number of loaded layers and tables
     * @param all number of layers and tables of the model
     */
    void onPart(int done, int all);
}

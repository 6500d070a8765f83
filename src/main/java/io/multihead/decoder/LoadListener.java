package io.multihead.decoder;

/** Is told how far a model is loaded. */
@FunctionalInterface
public interface LoadListener {
    /** A listener that does nothing. */
    LoadListener NONE = (done, all) -> {};

    /**
     * Is called on the thread that loads, after each layer.
     *
     * @param done layers and tables that are loaded
     * @param all layers and tables of the model
     */
    void onPart(int done, int all);
}

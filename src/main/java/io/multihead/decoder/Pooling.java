package io.multihead.decoder;

/** How the states of a text's tokens become one vector, in {@link TextEmbedder}. */
public enum Pooling {
    /** The state of the last token, which alone has seen all others. */
    LAST,
    /** The mean of all states. */
    MEAN,
    /** The state of the first token. */
    CLS
}

package io.multihead.encoder;

/** The treatment of a text of more tokens than an encoder takes at once. */
public enum LongTexts {
    /** The first tokens count and the rest is ignored, as in sentence-transformers. {@link TextEmbedding} says how many were. */
    TRUNCATE,
    /**
     * The text is divided into parts, not inside a word unless the word is longer than a part; its vector is the mean of the
     * parts' pooled vectors, weighted by their tokens, normalized at the end where vectors are.
     */
    SPLIT_AND_AVERAGE,
    /** The call fails with an {@link IllegalArgumentException} that names the text and its length. */
    FAIL
}

package io.multihead.encoder;

/** The treatment of a text with more tokens than an encoder reads. */
public enum LongTexts {
    /** The first tokens are used and the rest is ignored, as in sentence-transformers. {@link TextEmbedding} reports the number of
     * ignored tokens. */
    TRUNCATE,
    /**
     * The text is divided into parts. A word is divided only if it is longer than a part. The vector is the mean of the
     * parts' pooled vectors, weighted by their numbers of tokens, and is normalized at the end if vectors are normalized.
     */
    SPLIT_AND_AVERAGE,
    /** The call fails with an {@link IllegalArgumentException} that names the text and its length. */
    FAIL
}

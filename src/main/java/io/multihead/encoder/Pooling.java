package io.multihead.encoder;

/** How the vectors of a text's tokens become one (Reimers and Gurevych 2019, "Sentence-BERT", section 3). */
public enum Pooling {
    /** The mean over all tokens, {@code [CLS]} and {@code [SEP]} included. */
    MEAN,
    /** The vector of the first token, {@code [CLS]}. */
    CLS,
    /** The largest element of all tokens, dimension by dimension. */
    MAX,
    /** The sum over all tokens by the square root of their number. */
    MEAN_SQRT_LEN,
    /** The mean over all tokens, each of the weight of its place, counted from 1 (Muennighoff 2022, "SGPT"). */
    WEIGHTED_MEAN,
    /** The vector of the last token, {@code [SEP]}. */
    LAST
}

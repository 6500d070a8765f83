package io.multihead.model;

/**
 * The function from the states of a text's tokens to one vector (Reimers and Gurevych 2019, "Sentence-BERT", section 3). Encoders support all
 * of these functions. Language models support {@link #LAST}, {@link #MEAN} and {@link #CLS}.
 */
public enum Pooling {
    /** The mean over all tokens, special tokens such as {@code [CLS]} included. */
    MEAN,
    /** The state of the first token, {@code [CLS]} in encoders. */
    CLS,
    /** The largest value of each dimension over all tokens. */
    MAX,
    /** The sum over all tokens, divided by the square root of their number. */
    MEAN_SQRT_LEN,
    /** The mean over all tokens, each weighted by its position, counted from 1 (Muennighoff 2022, "SGPT"). */
    WEIGHTED_MEAN,
    /** The state of the last token, {@code [SEP]} in encoders. In a language model, only the last token sees all other tokens. */
    LAST
}

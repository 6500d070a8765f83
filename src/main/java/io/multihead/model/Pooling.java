package io.multihead.model;

/**
 * The function from the states of a text's tokens to one vector (Reimers and Gurevych 2019, "Sentence-BERT", section 3). Encoders support all of
 * them, language models {@link #LAST}, {@link #MEAN} and {@link #CLS}.
 */
public enum Pooling {
    /** The mean over all tokens, special tokens such as {@code [CLS]} included. */
    MEAN,
    /** The state of the first token, of encoders {@code [CLS]}. */
    CLS,
    /** The largest element of all tokens, dimension by dimension. */
    MAX,
    /** The sum over all tokens by the square root of their number. */
    MEAN_SQRT_LEN,
    /** The mean over all tokens, each of the weight of its place, counted from 1 (Muennighoff 2022, "SGPT"). */
    WEIGHTED_MEAN,
    /** The state of the last token, of encoders {@code [SEP]}; in a language model it alone has seen all others. */
    LAST
}

package io.multihead.internal.attention;

/** Where a caller reads scores on their way from {@code Q K^T} to the weights. */
public enum Stage {
    /** {@code scale Q K^T}, of every key that is stored. */
    SCALED,
    /** The same after the soft-cap. */
    CAPPED,
    /** As they enter the softmax: after linear biases, mask and modifier. */
    MASKED,
    /** After the softmax: the weights. */
    WEIGHTS
}

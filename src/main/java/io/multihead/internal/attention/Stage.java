package io.multihead.internal.attention;

/** The stages at which a caller reads scores, between {@code Q K^T} and the weights. */
public enum Stage {
    /** {@code scale Q K^T}, of every stored key. */
    SCALED,
    /** The scaled scores after the soft-cap. */
    CAPPED,
    /** The scores that enter the softmax: after linear biases, mask and modifier. */
    MASKED,
    /** After the softmax: the weights. */
    WEIGHTS
}

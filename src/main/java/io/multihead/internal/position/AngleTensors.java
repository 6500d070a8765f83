package io.multihead.internal.position;

import io.multihead.tensor.Tensor;

/**
 * The angles of the very tokens of a call, as tensors of the caller's that are read at each call.
 *
 * @param cos {@code [batch, tokens, pairs]}, or {@code [tokens, pairs]} for all sequences alike
 * @param sin the same shape
 * @param layout their order in scratch
 */
public record AngleTensors(Tensor cos, Tensor sin, AngleLayout layout) {
    /** Returns whether each sequence has angles of its own. */
    boolean isPerBatch() {
        return cos.rank() == 3;
    }
}

package io.multihead.internal.position;

import io.multihead.tensor.Tensor;

/**
 * The angles of a call's tokens, as tensors of the caller that are read at each call.
 *
 * @param cos {@code [batch, tokens, pairs]}, or {@code [tokens, pairs]} for all sequences
 * @param sin the same shape
 * @param layout the order of angles in scratch
 */
public record AngleTensors(Tensor cos, Tensor sin, AngleLayout layout) {
    /** Returns whether each sequence has separate angles. */
    boolean isPerBatch() {
        return cos.rank() == 3;
    }
}

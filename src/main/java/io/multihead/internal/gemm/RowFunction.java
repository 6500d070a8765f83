package io.multihead.internal.gemm;

import io.multihead.internal.kernel.ActivationOps;

/** A function of each element of C, applied to complete rows in scratch before they are written. Stateless. */
public interface RowFunction {
    /**
     * Changes elements in place.
     *
     * @param row the elements, from {@code at} on
     * @param length the number of elements, a multiple of 32
     * @param buffer a buffer of {@link ActivationOps#bufferLength} floats, with arbitrary contents
     */
    void apply(float[] row, int at, int length, float[] buffer);
}

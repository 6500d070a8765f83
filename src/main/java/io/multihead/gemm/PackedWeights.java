package io.multihead.gemm;

import static io.multihead.internal.gemm.Blocking.KC;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.VectorApiCheck;
import io.multihead.internal.gemm.PackedMatrix;
import io.multihead.tensor.Tensor;

/**
 * A right operand that is packed once for many multiplications: a copy of the weights as f32 panels on the Java heap, 4 bytes per
 * element, columns rounded up to a multiple of 32.
 *
 * <p>Immutable, thread-safe, and independent of the tensor that it was made from. Multiplying with it gives the same bits as
 * multiplying with the tensor.
 */
public final class PackedWeights {
    private final PackedMatrix matrix;

    private PackedWeights(PackedMatrix matrix) {
        this.matrix = matrix;
    }

    /**
     * Packs a matrix.
     *
     * @param matrix {@code [inputs, outputs]}, any element type and strides; a PyTorch weight {@code [outputs, inputs]} is
     *     given as {@code weight.permute(1, 0)}
     * @return the packed copy
     * @throws IllegalArgumentException if the matrix has not two axes, or 256 of its rows exceed a Java array
     */
    public static PackedWeights of(Tensor matrix) {
        VectorApiCheck.requireVectorModule();
        if (Checks.notNull(matrix, "matrix").rank() != 2) {
            throw Checks.fail("matrix", "shape " + matrix.shape(), "expected two axes [inputs, outputs]");
        }
        Checks.fitsInt((matrix.dim(1) + 31) * KC, "matrix columns");
        Checks.fitsInt(Math.ceilDiv(matrix.dim(0), (long) KC), "matrix rows");
        return new PackedWeights(PackedMatrix.of(matrix));
    }

    /**
     * Returns the rows of the matrix.
     *
     * @return the number of inputs
     */
    public long inputs() {
        return matrix.k();
    }

    /**
     * Returns the columns of the matrix.
     *
     * @return the number of outputs
     */
    public long outputs() {
        return matrix.n();
    }

    PackedMatrix matrix() {
        return matrix;
    }
}

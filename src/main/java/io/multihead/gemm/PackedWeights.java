package io.multihead.gemm;

import static io.multihead.internal.kernel.Lanes.DEPTH;

import io.multihead.internal.Checks;
import io.multihead.internal.Gate;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Panels;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;

/**
 * A right operand packed once for many multiplications: a copy of the weights as f32 panels on the Java heap, 4 bytes per
 * element, columns rounded up to a multiple of 32.
 *
 * <p>Immutable, thread-safe, and independent of the tensor that it was made from. Multiplying with it gives the same bits as
 * multiplying with the tensor.
 */
public final class PackedWeights {
    private final long depth;
    private final int columns;
    /** One array for every 256 rows: panels {@code [panel][row][32]}. */
    private final float[][] blocks;

    private PackedWeights(long depth, int columns, float[][] blocks) {
        this.depth = depth;
        this.columns = columns;
        this.blocks = blocks;
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
        Gate.requireVectorModule();
        if (Checks.notNull(matrix, "matrix").rank() != 2) {
            throw Checks.fail("matrix", "shape " + matrix.shape(), "expected two axes [inputs, outputs]");
        }
        Checks.fitsInt((matrix.dim(1) + 31) * DEPTH, "matrix columns");
        int columns = (int) matrix.dim(1);
        float[][] blocks = new float[Checks.fitsInt(Math.ceilDiv(matrix.dim(0), (long) DEPTH), "matrix rows")][];
        Scratch memory = new Scratch();
        Packer packer = new Packer(memory);
        PanelPacker panels = new PanelPacker(memory);
        for (int i = 0; i < blocks.length; i++) {
            long row = (long) i * DEPTH;
            int high = (int) Math.min(DEPTH, matrix.dim(0) - row);
            blocks[i] = new float[Panels.size(columns, high)];
            panels.pack(packer, matrix, matrix.offset() + row * matrix.stride(0), high, columns, blocks[i], 0);
        }
        return new PackedWeights(matrix.dim(0), columns, blocks);
    }

    /**
     * Rows of the matrix.
     *
     * @return the number of inputs
     */
    public long inputs() {
        return depth;
    }

    /**
     * Columns of the matrix.
     *
     * @return the number of outputs
     */
    public long outputs() {
        return columns;
    }

    /** The panels of rows {@code 256 * index} to {@code 256 * index + 255}. */
    float[] block(int index) {
        return blocks[index];
    }
}

package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Transposition;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Copies matrices between user memory and rows of f32 scratch. Only this class knows element types and strides; {@link DTypeCodec} converts
 * elements. Each thread needs a separate instance, because an instance stages elements in its arrays.
 *
 * <p>A matrix in user memory is identified by its tensor, the position of its first element and the strides of its rows and columns, in
 * elements. All access is checked by the segment. Rows without gaps on both sides are copied together: a rotation of 1024 rows of 64 takes 18
 * instead of 31 us, and 21 instead of 43 us in a JVM that has copied heap memory, native memory and other types.
 */
public final class Packer {
    /** The number of rows of a staging block: 256 rows of 32 columns take 32 KiB. */
    private static final int TRANSPOSED_ROWS = 256;

    private final Scratch scratch;
    private final DTypeCodec codec;
    private float[] transposed = new float[0];
    private float[] panel = new float[0];
    private PanelMemory widened = PanelMemory.NONE;

    /** Allocates its staging arrays from {@code scratch} on first use. */
    public Packer(Scratch scratch) {
        this.scratch = scratch;
        codec = new DTypeCodec(scratch);
    }

    /**
     * Reads {@code rows x columns} elements into rows of {@code to}, {@code ld} apart, and writes zeros up to the next multiple of 32
     * columns.
     *
     * @param at position of the first element in the tensor's memory
     * @param ld floats from row to row; at least {@code columns} rounded up to 32 unless {@code rows} is 1, since the zeros are also
     * written
     */
    public void read(
            Tensor from,
            long at,
            long rowStride,
            long columnStride,
            int rows,
            int columns,
            float[] to,
            int t0,
            int ld) {
        if (columns == 0) {
            return; // the strides of a tensor without elements may lead beyond its memory
        }
        if (columnStride != 1 && rowStride == 1 && columns > 1 && rows > 1) {
            readTransposed(from, at, columnStride, rows, columns, to, t0, ld);
        } else if (isOneRun(rowStride, columnStride, columns, ld)) {
            codec.read(from, at, rows * columns, to, t0);
        } else {
            for (int row = 0; row < rows; row++) {
                readRow(from, at + row * rowStride, columnStride, columns, to, t0 + row * ld);
            }
        }
        int padded = Lanes.roundUp(columns, PANEL);
        if (padded != columns) {
            for (int row = 0; row < rows; row++) {
                Arrays.fill(to, t0 + row * ld + columns, t0 + row * ld + padded, 0f);
            }
        }
    }

    /** Reads {@code rows x columns} elements from the beginning of a block on, as the other {@code read} does. */
    public void read(StridedBlock from, int rows, int columns, float[] to, int t0, int ld) {
        read(from.tensor(), from.at(), from.rowStride(), from.columnStride(), rows, columns, to, t0, ld);
    }

    /** Writes rows of scratch, {@code ld} apart, to a block of user memory, and rounds them to its element type. */
    public void write(float[] from, int f0, int ld, int rows, int columns, StridedBlock to) {
        write(from, f0, ld, rows, columns, to.tensor(), to.at(), to.rowStride(), to.columnStride());
    }

    /** Writes rows of scratch, {@code ld} apart, to user memory, and rounds them to its element type. */
    public void write(
            float[] from,
            int f0,
            int ld,
            int rows,
            int columns,
            Tensor to,
            long at,
            long rowStride,
            long columnStride) {
        if (columns == 0) {
            return;
        }
        if (isOneRun(rowStride, columnStride, columns, ld)) {
            codec.write(from, f0, rows * columns, to, at);
            return;
        }
        for (int row = 0; row < rows; row++) {
            if (columnStride == 1) {
                codec.write(from, f0 + row * ld, columns, to, at + row * rowStride);
            } else {
                for (int column = 0; column < columns; column++) {
                    codec.write(from, f0 + row * ld + column, 1, to, at + row * rowStride + column * columnStride);
                }
            }
        }
    }

    /** Returns whether rows follow each other without gaps, in user memory and in scratch. */
    private static boolean isOneRun(long rowStride, long columnStride, int columns, int ld) {
        return columnStride == 1 && rowStride == columns && ld == columns;
    }

    /** Widens {@code rows} whole rows of a panel, from element {@code from} on, to an array, without scales. */
    public void widen(PanelMemory panels, int from, int rows, float[] to) {
        widened = scratch.atLeast(widened, rows * PANEL);
        panels.widen(from, rows, Panels.UNSCALED, 0, widened, 0);
        F32Panels.load(widened.segment(), 0, rows * PANEL, to, 0);
    }

    /** Returns a buffer for one panel of a depth, with arbitrary contents. */
    public float[] panel(int depth) {
        panel = scratch.atLeast(panel, depth * PANEL);
        return panel;
    }

    /** Reads columns, which are contiguous in memory, as rows of a staging block, and transposes it. */
    private void readTransposed(
            Tensor from, long at, long columnStride, int rows, int columns, float[] to, int t0, int ld) {
        int block = Math.min(rows, TRANSPOSED_ROWS);
        transposed = scratch.atLeast(transposed, block * PANEL);
        for (int row = 0; row < rows; row += block) {
            int high = Math.min(block, rows - row);
            for (int column = 0; column < columns; column += PANEL) {
                int wide = Math.min(PANEL, columns - column);
                for (int c = 0; c < wide; c++) {
                    codec.read(from, at + row + (column + c) * columnStride, high, transposed, c * block);
                }
                Transposition.of(transposed, 0, block, wide, high, to, t0 + row * ld + column, ld);
            }
        }
    }

    private void readRow(Tensor from, long at, long stride, int columns, float[] to, int t0) {
        if (stride == 1) {
            codec.read(from, at, columns, to, t0);
        } else if (stride == 0 && columns > 0) {
            codec.read(from, at, 1, to, t0);
            Arrays.fill(to, t0, t0 + columns, to[t0]);
        } else {
            for (int column = 0; column < columns; column++) {
                codec.read(from, at + column * stride, 1, to, t0 + column);
            }
        }
    }
}

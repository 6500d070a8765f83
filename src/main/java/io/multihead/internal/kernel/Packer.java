package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/**
 * The border between user memory and scratch: dtype and stride end here. One instance per thread, because it stages 16-bit,
 * 8-bit and 64-bit elements in arrays of its own.
 *
 * <p>A matrix of user memory is named by its tensor, the position of its first element and the strides of its rows and
 * columns, in elements. All access is checked by the segment.
 */
public final class Packer {
    private final Scratch scratch;
    private short[] shorts = new short[0];
    private byte[] bytes = new byte[0];
    private double[] doubles = new double[0];
    private float[] turned = new float[0];

    /** Allocates its staging arrays from {@code scratch} on first use. */
    public Packer(Scratch scratch) {
        this.scratch = scratch;
    }

    /**
     * Reads {@code rows x columns} elements into rows of {@code to}, {@code ld} apart, and zeros from there to the next
     * multiple of 32 columns.
     *
     * @param at position of the first element in the tensor's memory
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
        if (columnStride != 1 && rowStride == 1 && columns > 1 && rows > 1) {
            readTurned(from, at, columnStride, rows, columns, to, t0, ld);
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

    /** Writes rows of scratch, {@code ld} apart, to user memory, rounding to its element type. */
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
        for (int row = 0; row < rows; row++) {
            if (columnStride == 1) {
                writeRun(from, f0 + row * ld, columns, to, at + row * rowStride);
            } else {
                for (int column = 0; column < columns; column++) {
                    writeRun(from, f0 + row * ld + column, 1, to, at + row * rowStride + column * columnStride);
                }
            }
        }
    }

    /** Reads columns, which lie contiguous, as rows of a staging block and turns it. */
    private void readTurned(
            Tensor from, long at, long columnStride, int rows, int columns, float[] to, int t0, int ld) {
        int block = Math.min(rows, Lanes.DEPTH);
        turned = scratch.atLeast(turned, block * PANEL);
        for (int row = 0; row < rows; row += block) {
            int high = Math.min(block, rows - row);
            for (int column = 0; column < columns; column += PANEL) {
                int wide = Math.min(PANEL, columns - column);
                for (int c = 0; c < wide; c++) {
                    readRun(from, at + row + (column + c) * columnStride, high, turned, c * block);
                }
                for (int r = 0; r < high; r++) {
                    int target = t0 + (row + r) * ld + column;
                    for (int c = 0; c < wide; c++) {
                        to[target + c] = turned[c * block + r];
                    }
                }
            }
        }
    }

    private void readRow(Tensor from, long at, long stride, int columns, float[] to, int t0) {
        if (stride == 1) {
            readRun(from, at, columns, to, t0);
        } else if (stride == 0 && columns > 0) {
            readRun(from, at, 1, to, t0);
            Arrays.fill(to, t0, t0 + columns, to[t0]);
        } else {
            for (int column = 0; column < columns; column++) {
                readRun(from, at + column * stride, 1, to, t0 + column);
            }
        }
    }

    private void readRun(Tensor from, long at, int length, float[] to, int t0) {
        MemorySegment memory = from.memory();
        DType dtype = from.dtype();
        long byteOffset = at * dtype.bytes();
        switch (dtype) {
            case F32 -> MemorySegment.copy(memory, ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, to, t0, length);
            case F64 -> {
                doubles = scratch.atLeast(doubles, length);
                MemorySegment.copy(memory, ValueLayout.JAVA_DOUBLE_UNALIGNED, byteOffset, doubles, 0, length);
                Narrow.f64ToFloat(doubles, length, to, t0);
            }
            case BF16, F16 -> {
                shorts = scratch.atLeast(shorts, length);
                MemorySegment.copy(memory, ValueLayout.JAVA_SHORT_UNALIGNED, byteOffset, shorts, 0, length);
                if (dtype == DType.BF16) {
                    Narrow.bf16ToFloat(shorts, length, to, t0);
                } else {
                    Narrow.f16ToFloat(shorts, length, to, t0);
                }
            }
            case I8 -> {
                bytes = scratch.atLeast(bytes, length);
                MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, byteOffset, bytes, 0, length);
                Narrow.i8ToFloat(bytes, length, to, t0);
            }
        }
    }

    private void writeRun(float[] from, int f0, int length, Tensor to, long at) {
        MemorySegment memory = to.memory();
        DType dtype = to.dtype();
        long byteOffset = at * dtype.bytes();
        switch (dtype) {
            case F32 -> MemorySegment.copy(from, f0, memory, ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, length);
            case F64 -> {
                doubles = scratch.atLeast(doubles, length);
                Narrow.floatToF64(from, f0, length, doubles);
                MemorySegment.copy(doubles, 0, memory, ValueLayout.JAVA_DOUBLE_UNALIGNED, byteOffset, length);
            }
            case BF16, F16 -> {
                shorts = scratch.atLeast(shorts, length);
                if (dtype == DType.BF16) {
                    Narrow.floatToBf16(from, f0, length, shorts);
                } else {
                    Narrow.floatToF16(from, f0, length, shorts);
                }
                MemorySegment.copy(shorts, 0, memory, ValueLayout.JAVA_SHORT_UNALIGNED, byteOffset, length);
            }
            case I8 -> {
                bytes = scratch.atLeast(bytes, length);
                Narrow.floatToI8(from, f0, length, bytes);
                MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, byteOffset, length);
            }
        }
    }
}

package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.tensor.DType;
import jdk.incubator.vector.FloatVector;

/** Panels of narrow elements to panels of f32: whole rows of 32, no tails. */
public final class Widen {
    private static final int LINE = 64;

    private Widen() {}

    /**
     * Widens {@code rows} rows of 32 elements.
     *
     * @param storage {@code float[]}, {@code short[]} or {@code byte[]}, as the type wants
     */
    public static void panel(Object storage, DType dtype, int from, int rows, float[] to, int at) {
        int length = rows * PANEL;
        switch (dtype) {
            case F32 -> System.arraycopy((float[]) storage, from, to, at, length);
            case BF16 -> Narrow.bf16ToFloat((short[]) storage, from, length, to, at);
            case F16 -> Narrow.f16ToFloat((short[]) storage, from, length, to, at);
            case I8 -> Narrow.i8ToFloat((byte[]) storage, from, length, to, at);
            default -> throw new IllegalArgumentException("dtype: " + dtype + "; expected f32 or narrower");
        }
    }

    /**
     * Reads one element of every cache line, so that what follows finds all of it near: few instructions per line keep many
     * lines in flight, which a multiplication cannot (measured on strided pieces of 32 KiB: 22 instead of 13 GB/s).
     *
     * @return a number that depends on all of them, which keeps the reads from being left out
     */
    public static int touch(Object storage, DType dtype, int from, int length) {
        return switch (dtype) {
            case F32 -> touch((float[]) storage, from, from + length);
            case BF16, F16 -> touch((short[]) storage, from, from + length);
            default -> touch((byte[]) storage, from, from + length);
        };
    }

    /** Comparisons instead of a sum, whose additions would wait for each other. */
    private static int touch(float[] array, int from, int to) {
        int count = 0;
        for (int i = from; i < to; i += LINE / Float.BYTES) {
            count += array[i] > 0f ? 1 : 0;
        }
        return count;
    }

    private static int touch(short[] array, int from, int to) {
        int sum = 0;
        for (int i = from; i < to; i += LINE / Short.BYTES) {
            sum += array[i];
        }
        return sum;
    }

    private static int touch(byte[] array, int from, int to) {
        int sum = 0;
        for (int i = from; i < to; i += LINE) {
            sum += array[i];
        }
        return sum;
    }

    /** Multiplies each column of a panel with its own scale. */
    public static void scaleColumns(float[] panel, int at, int rows, float[] scales, int s0) {
        for (int lane = 0; lane < PANEL; lane += COUNT) {
            FloatVector scale = FloatVector.fromArray(FLOATS, scales, s0 + lane);
            for (int i = at + lane; i < at + lane + rows * PANEL; i += PANEL) {
                FloatVector.fromArray(FLOATS, panel, i).mul(scale).intoArray(panel, i);
            }
        }
    }

    /** Multiplies each row of a panel with its own scale. */
    public static void scaleRows(float[] panel, int at, int rows, float[] scales, int s0) {
        for (int row = 0; row < rows; row++) {
            RowOps.scale(panel, at + row * PANEL, PANEL, scales[s0 + row]);
        }
    }
}

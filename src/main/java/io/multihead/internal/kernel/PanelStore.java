package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.tensor.DType;

/** Writes rows of f32 into panels of any element type, rounding once; {@link Widen} is the way back. */
public final class PanelStore {
    private static final float MOST_BYTE = 127f;

    private PanelStore() {}

    /** Rows that a panel of so many takes in the type. */
    public static int depth(DType dtype, int rows) {
        return dtype == DType.I8 ? Lanes.roundUp(rows, Quads.ROWS) : rows;
    }

    /**
     * Rows become columns of one panel: {@code panel[k][lane + t] = rows[t][k0 + k]}.
     *
     * @param ld floats from row to row
     * @param turned room for {@code count} floats
     * @param storage {@code float[]}, {@code int[]} of {@link Halves}, or {@code byte[]} of {@link Quads}, as the type wants
     * @param at the panel's first element of the first row's column, counted in elements, row by row
     */
    public static void columns(
            float[] rows, int r0, int ld, int count, int depth, float[] turned, Object storage, DType dtype, int at) {
        for (int k = 0; k < depth; k++) {
            for (int t = 0; t < count; t++) {
                turned[t] = rows[r0 + t * ld + k];
            }
            row(turned, 0, count, storage, dtype, at + k * PANEL);
        }
    }

    /** One row, {@code length} long, becomes the beginning of a row of a panel. */
    public static void row(float[] rows, int from, int length, Object storage, DType dtype, int at) {
        switch (dtype) {
            case F32 -> System.arraycopy(rows, from, (float[]) storage, at, length);
            case BF16, F16 -> Halves.of(dtype).narrow(rows, from, length, (int[]) storage, at);
            case I8 -> Quads.narrow(rows, from, length, (byte[]) storage, at);
            default -> throw new IllegalArgumentException("dtype: " + dtype + "; expected f32 or narrower");
        }
    }

    /** Whether every element stays finite in the type. */
    public static boolean isFinite(float[] row, int at, int length, DType dtype) {
        float most = dtype == DType.F16 ? 65504f : dtype == DType.BF16 ? 0x1.fep127f : Float.MAX_VALUE;
        boolean finite = true;
        for (int i = 0; i < length; i++) {
            finite &= Math.abs(row[at + i]) <= most;
        }
        return finite;
    }

    /**
     * Divides a row by its scale and rounds to integers of a byte.
     *
     * @return the scale: the largest absolute element over 127; NaN if an element is not finite
     */
    public static float quantise(float[] row, int at, int length) {
        float largest = 0f;
        for (int i = 0; i < length; i++) {
            largest = Math.max(largest, Math.abs(row[at + i]));
        }
        float scale = largest / MOST_BYTE;
        boolean usable = scale > 0f && scale <= Float.MAX_VALUE;
        for (int i = 0; i < length; i++) {
            row[at + i] = usable ? (float) Math.clamp(Math.rint(row[at + i] / scale), -MOST_BYTE, MOST_BYTE) : 0f;
        }
        return scale <= Float.MAX_VALUE ? scale : Float.NaN;
    }
}

package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.tensor.DType;

/** Panels of narrow elements to panels of f32: whole rows of 32, no tails. */
public final class Widen {
    private Widen() {}

    /**
     * Widens {@code rows} rows of 32 elements.
     *
     * @param storage {@code float[]}, {@code int[]} of {@link Halves}, or {@code byte[]} of {@link Quads}, as the type wants
     * @param from counts elements
     */
    public static void panel(Object storage, DType dtype, int from, int rows, float[] to, int at) {
        switch (dtype) {
            case F32 -> System.arraycopy((float[]) storage, from, to, at, rows * PANEL);
            case BF16, F16 -> Halves.of(dtype).widen((int[]) storage, from, rows, to, at);
            case I8 -> Quads.widen((byte[]) storage, from, rows, to, at);
            default -> throw new IllegalArgumentException("dtype: " + dtype + "; expected f32 or narrower");
        }
    }

    /** Multiplies each row of a panel with its own scale. */
    public static void scaleRows(float[] panel, int at, int rows, float[] scales, int s0) {
        for (int row = 0; row < rows; row++) {
            RowOps.scale(panel, at + row * PANEL, PANEL, scales[s0 + row]);
        }
    }
}

package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Adds tiles that {@link MicroKernel} has stored to C. This is a separate kernel, since a tile that also adds reaches C2's limit of
 * nodes.
 */
public final class TileSums {
    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int ROWS = 8;
        private final float[] tile = new float[ROWS * PANEL];
        private final float[] sums = new float[2 * ROWS * PANEL];

        @Override
        public int operations() {
            return ROWS * 34;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                addVectors(tile, sums, 0, PANEL, lengthFactor * ROWS, HALF);
                addCompensatedVectors(tile, 0, sums, 0, PANEL, ROWS * PANEL, lengthFactor * ROWS, HALF);
                addScaledVectors(tile, tile, 0, sums, 0, PANEL, lengthFactor * ROWS, HALF);
            }
        }
    });

    private TileSums() {}

    /**
     * Computes {@code C += T} for a tile T, whose rows are one panel apart and whose vectors are {@code vectorStride} columns apart.
     */
    public static void add(float[] t, float[] c, int c0, int ldc, int rows, int vectorStride) {
        if (WARM_UP.isOver()) {
            addVectors(t, c, c0, ldc, rows, vectorStride);
        } else {
            addScalars(t, c, c0, ldc, rows, vectorStride);
        }
    }

    static void addScalars(float[] t, float[] c, int c0, int ldc, int rows, int vectorStride) {
        for (int row = 0; row < rows; row++) {
            for (int j = 0; j < vectorStride + Lanes.COUNT; j = j + 1 == Lanes.COUNT ? vectorStride : j + 1) {
                c[c0 + row * ldc + j] += t[row * PANEL + j];
            }
        }
    }

    static void addVectors(float[] t, float[] c, int c0, int ldc, int rows, int vectorStride) {
        int second = Lanes.second(vectorStride);
        if (rows <= 0) { // see WarmUp.Trial
            for (int i = rows; i < 0; i++) {}
            return;
        }
        for (int row = 0; row < rows; row++) {
            int at = c0 + row * ldc;
            FloatVector left = FloatVector.fromArray(FLOATS, t, row * PANEL);
            FloatVector right = FloatVector.fromArray(FLOATS, t, row * PANEL + second);
            FloatVector.fromArray(FLOATS, c, at).add(left).intoArray(c, at);
            FloatVector.fromArray(FLOATS, c, at + second).add(right).intoArray(c, at + second);
        }
    }

    /** Computes {@code C += T diag(s)}: adds a tile as {@link #add} does, with each column multiplied by its scale, and rounds once. */
    public static void addScaled(
            float[] t, float[] scales, int s0, float[] c, int c0, int ldc, int rows, int vectorStride) {
        if (WARM_UP.isOver()) {
            addScaledVectors(t, scales, s0, c, c0, ldc, rows, vectorStride);
        } else {
            addScaledScalars(t, scales, s0, c, c0, ldc, rows, vectorStride);
        }
    }

    static void addScaledScalars(
            float[] t, float[] scales, int s0, float[] c, int c0, int ldc, int rows, int vectorStride) {
        for (int row = 0; row < rows; row++) {
            for (int j = 0; j < vectorStride + Lanes.COUNT; j = j + 1 == Lanes.COUNT ? vectorStride : j + 1) {
                int at = c0 + row * ldc + j;
                c[at] = Math.fma(t[row * PANEL + j], scales[s0 + j], c[at]);
            }
        }
    }

    static void addScaledVectors(
            float[] t, float[] scales, int s0, float[] c, int c0, int ldc, int rows, int vectorStride) {
        int second = Lanes.second(vectorStride);
        if (rows <= 0) { // see WarmUp.Trial
            for (int i = rows; i < 0; i++) {}
            return;
        }
        FloatVector scale0 = FloatVector.fromArray(FLOATS, scales, s0);
        FloatVector scale1 = FloatVector.fromArray(FLOATS, scales, s0 + second);
        for (int row = 0; row < rows; row++) {
            int at = c0 + row * ldc;
            FloatVector left = FloatVector.fromArray(FLOATS, t, row * PANEL);
            FloatVector right = FloatVector.fromArray(FLOATS, t, row * PANEL + second);
            left.fma(scale0, FloatVector.fromArray(FLOATS, c, at)).intoArray(c, at);
            right.fma(scale1, FloatVector.fromArray(FLOATS, c, at + second)).intoArray(c, at + second);
        }
    }

    public static void zero(float[] c, int c0, int ldc, int rows, int vectorStride) {
        for (int row = 0; row < rows; row++) {
            for (int j = 0; j < vectorStride + Lanes.COUNT; j = j + 1 == Lanes.COUNT ? vectorStride : j + 1) {
                c[c0 + row * ldc + j] = 0f;
            }
        }
    }

    /**
     * Adds a tile as {@link #add} does, with compensation (Kahan 1965): the rounding error of each element is stored and added the next
     * time. The error is 0 where a sum is infinite, so that infinities do not become NaN.
     *
     * @param compensation distance in floats from an element of C to its compensation term
     */
    public static void addCompensated(
            float[] t, int t0, float[] c, int c0, int ldc, int compensation, int rows, int vectorStride) {
        if (WARM_UP.isOver()) {
            addCompensatedVectors(t, t0, c, c0, ldc, compensation, rows, vectorStride);
        } else {
            addCompensatedScalars(t, t0, c, c0, ldc, compensation, rows, vectorStride);
        }
    }

    static void addCompensatedScalars(
            float[] t, int t0, float[] c, int c0, int ldc, int compensation, int rows, int vectorStride) {
        for (int row = 0; row < rows; row++) {
            for (int j = 0; j < vectorStride + Lanes.COUNT; j = j + 1 == Lanes.COUNT ? vectorStride : j + 1) {
                int at = c0 + row * ldc + j;
                float before = c[at];
                float part = t[t0 + row * PANEL + j] + c[at + compensation];
                float sum = before + part;
                c[at + compensation] = Float.isInfinite(sum) ? 0f : part - (sum - before);
                c[at] = sum;
            }
        }
    }

    static void addCompensatedVectors(
            float[] t, int t0, float[] c, int c0, int ldc, int compensation, int rows, int vectorStride) {
        int second = Lanes.second(vectorStride);
        if (rows <= 0) { // see WarmUp.Trial
            for (int i = rows; i < 0; i++) {}
            return;
        }
        for (int row = 0; row < rows; row++) {
            int at = c0 + row * ldc;
            FloatVector left = FloatVector.fromArray(FLOATS, c, at);
            FloatVector right = FloatVector.fromArray(FLOATS, c, at + second);
            FloatVector leftTile = FloatVector.fromArray(FLOATS, t, t0 + row * PANEL)
                    .add(FloatVector.fromArray(FLOATS, c, at + compensation));
            FloatVector rightTile = FloatVector.fromArray(FLOATS, t, t0 + row * PANEL + second)
                    .add(FloatVector.fromArray(FLOATS, c, at + compensation + second));
            FloatVector leftSum = left.add(leftTile);
            FloatVector rightSum = right.add(rightTile);
            leftTile.sub(leftSum.sub(left))
                    .blend(0f, leftSum.test(VectorOperators.IS_INFINITE))
                    .intoArray(c, at + compensation);
            rightTile
                    .sub(rightSum.sub(right))
                    .blend(0f, rightSum.test(VectorOperators.IS_INFINITE))
                    .intoArray(c, at + compensation + second);
            leftSum.intoArray(c, at);
            rightSum.intoArray(c, at + second);
        }
    }
}

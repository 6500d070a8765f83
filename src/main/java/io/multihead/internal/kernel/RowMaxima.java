package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;

/**
 * The largest element of each column of some rows of scratch: NaN if an element is NaN, and +0 above -0, like {@link Math#max(float,
 * float)}.
 */
public final class RowMaxima {
    private static final WarmUp WARM_UP = new WarmUp(new Trial());

    private RowMaxima() {}

    /**
     * Computes {@code best = max(best, rows)}, column by column.
     *
     * @param rows {@code count} rows, {@code stride} apart
     * @param length columns, a multiple of the number of lanes
     */
    public static void add(float[] best, float[] rows, int at, int stride, int count, int length) {
        if (WARM_UP.isOver()) {
            vectors(best, rows, at, stride, count, length);
        } else {
            scalars(best, rows, at, stride, count, length);
        }
    }

    static void scalars(float[] best, float[] rows, int at, int stride, int count, int length) {
        for (int row = 0; row < count; row++) {
            for (int i = 0; i < length; i++) {
                best[i] = Math.max(best[i], rows[at + row * stride + i]);
            }
        }
    }

    static void vectors(float[] best, float[] rows, int at, int stride, int count, int length) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector most = FloatVector.fromArray(FLOATS, best, i);
            for (int row = 0; row < count; row++) {
                most = most.max(FloatVector.fromArray(FLOATS, rows, at + row * stride + i));
            }
            most.intoArray(best, i);
        }
    }

    private static final class Trial implements WarmUp.Trial {
        private static final int ROWS = 8;
        private static final int LENGTH = 2 * PANEL;

        private final float[] best = new float[LENGTH];
        private final float[] rows = new float[ROWS * LENGTH];

        @Override
        public int operations() {
            return ROWS * LENGTH / COUNT;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                vectors(best, rows, 0, LENGTH, lengthFactor * ROWS, lengthFactor * LENGTH);
            }
        }
    }
}

package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;

/**
 * Elements of quantized blocks from the fields of a panel: each is its field without the power of two and the offset, times the scale, plus the
 * minimum, each rounded. {@link io.multihead.tensor.BlockType} has the same bits.
 */
final class BlockElements {
    /** The number of rows after which factors and addends repeat. */
    private static final int ROWS = 32;

    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private final float[] wide = new float[ROWS * PANEL];
        private final float[] factors = new float[ROWS];
        private final float[] scales = new float[BlockScales.FLOATS_OF_PANEL];

        @Override
        public int operations() {
            return ROWS * PANEL / COUNT * 6;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                scaleVectors(wide, factors, factors, scales, ROWS, lengthFactor * ROWS);
                addVectors(wide, scales, ROWS, lengthFactor * ROWS);
            }
        }
    });

    private BlockElements() {}

    /**
     * Converts rows of widened fields to elements, in place.
     *
     * @param factors the factors of 32 rows, which repeat
     * @param addends the addends of 32 rows, which repeat
     * @param scales the scales of the panel, a row for each chain, and from {@link BlockScales#FIRST_MIN} on as many rows of mins
     * @param chain rows that share a scale
     */
    static void of(
            float[] wide, float[] factors, float[] addends, float[] scales, int chain, int depth, boolean hasMins) {
        if (!WARM_UP.isOver()) {
            scalars(wide, factors, addends, scales, chain, depth, hasMins);
            return;
        }
        scaleVectors(wide, factors, addends, scales, chain, depth);
        if (hasMins) {
            addVectors(wide, scales, chain, depth);
        }
    }

    static void scalars(
            float[] wide, float[] factors, float[] addends, float[] scales, int chain, int depth, boolean hasMins) {
        for (int k = 0; k < depth; k++) {
            int scale = k / chain * PANEL;
            int minimum = BlockScales.FIRST_MIN + k / chain * PANEL;
            for (int column = 0; column < PANEL; column++) {
                int at = k * PANEL + column;
                float product = (wide[at] * factors[k % ROWS] + addends[k % ROWS]) * scales[scale + column];
                wide[at] = hasMins ? product + scales[minimum + column] : product;
            }
        }
    }

    static void scaleVectors(float[] wide, float[] factors, float[] addends, float[] scales, int chain, int depth) {
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        for (int k = 0; k < depth; k++) {
            FloatVector factor = FloatVector.broadcast(FLOATS, factors[k % ROWS]);
            FloatVector addend = FloatVector.broadcast(FLOATS, addends[k % ROWS]);
            int scale = k / chain * PANEL;
            for (int column = 0; column < PANEL; column += COUNT) {
                FloatVector.fromArray(FLOATS, wide, k * PANEL + column)
                        .mul(factor)
                        .add(addend)
                        .mul(FloatVector.fromArray(FLOATS, scales, scale + column))
                        .intoArray(wide, k * PANEL + column);
            }
        }
    }

    static void addVectors(float[] wide, float[] scales, int chain, int depth) {
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        for (int k = 0; k < depth; k++) {
            int minimum = BlockScales.FIRST_MIN + k / chain * PANEL;
            for (int column = 0; column < PANEL; column += COUNT) {
                FloatVector.fromArray(FLOATS, wide, k * PANEL + column)
                        .add(FloatVector.fromArray(FLOATS, scales, minimum + column))
                        .intoArray(wide, k * PANEL + column);
            }
        }
    }
}

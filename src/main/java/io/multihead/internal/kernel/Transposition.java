package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorShuffle;

/**
 * Transposes blocks of f32 in scratch. With 16 lanes, squares of 16 by 16 are transposed with exchanges between vectors (Eklundh 1972, "A fast
 * computer method for matrix transposing"). The rest is transposed element by element, as are all blocks with fewer lanes.
 *
 * <p>An exchange at distance d swaps bit d of an element's row with bit d of its lane. Distances 1 and 2 are one pass over a square, and
 * distances 4 and 8 are the next, since C2 does not inline all operations of both in one pass.
 */
public final class Transposition {
    private static final int SQUARE = 16;

    private static final VectorShuffle<Float> LANE1 = exchange(1);
    private static final VectorShuffle<Float> LANE2 = exchange(2);
    private static final VectorShuffle<Float> LANE4 = exchange(4);
    private static final VectorShuffle<Float> LANE8 = exchange(8);
    private static final VectorMask<Float> BIT1 = VectorMask.fromLong(FLOATS, 0xaaaa);
    private static final VectorMask<Float> BIT2 = VectorMask.fromLong(FLOATS, 0xcccc);
    private static final VectorMask<Float> BIT4 = VectorMask.fromLong(FLOATS, 0xf0f0);
    private static final VectorMask<Float> BIT8 = VectorMask.fromLong(FLOATS, 0xff00);

    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int SQUARES = 2;
        private final float[] from = new float[SQUARES * SQUARE * SQUARE];
        private final float[] to = new float[SQUARES * SQUARE * SQUARE];

        @Override
        public int operations() {
            return SQUARES * 12 * SQUARE;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                exchangeNear(from, 0, SQUARES * SQUARE, lengthFactor * SQUARES * SQUARE, to, 0, SQUARE);
                exchangeFar(lengthFactor * SQUARES * SQUARE, to, 0, SQUARE);
            }
        }
    });

    private Transposition() {}

    private static VectorShuffle<Float> exchange(int distance) {
        return VectorShuffle.fromOp(FLOATS, lane -> (lane ^ distance) % COUNT);
    }

    /**
     * Sets {@code to[t0 + column * ldt + row] = from[f0 + row * ldf + column]}.
     *
     * @param from elements that do not overlap {@code to}
     * @param ldf floats from row to row
     * @param ldt floats from column to column
     */
    public static void of(float[] from, int f0, int ldf, int rows, int columns, float[] to, int t0, int ldt) {
        if (COUNT != SQUARE || rows < SQUARE || columns < SQUARE || !WARM_UP.isOver()) {
            elements(from, f0, ldf, rows, columns, to, t0, ldt);
            return;
        }
        vectors(from, f0, ldf, rows, columns, to, t0, ldt);
    }

    /** Transposes with vectors of 16 lanes. */
    static void vectors(float[] from, int f0, int ldf, int rows, int columns, float[] to, int t0, int ldt) {
        int wholeRows = rows - rows % SQUARE;
        int wholeColumns = columns - columns % SQUARE;
        squares(from, f0, ldf, wholeRows, wholeColumns, to, t0, ldt);
        int right = columns - wholeColumns;
        elements(from, f0 + wholeColumns, ldf, wholeRows, right, to, t0 + wholeColumns * ldt, ldt);
        elements(from, f0 + wholeRows * ldf, ldf, rows - wholeRows, columns, to, t0 + wholeRows, ldt);
    }

    static void elements(float[] from, int f0, int ldf, int rows, int columns, float[] to, int t0, int ldt) {
        for (int column = 0; column < columns; column++) {
            int at = f0 + column;
            int target = t0 + column * ldt;
            for (int row = 0; row < rows; row++) {
                to[target + row] = from[at + row * ldf];
            }
        }
    }

    /** Transposes whole squares. */
    static void squares(float[] from, int f0, int ldf, int rows, int columns, float[] to, int t0, int ldt) {
        for (int row = 0; row < rows; row += SQUARE) {
            exchangeNear(from, f0 + row * ldf, ldf, columns, to, t0 + row, ldt);
            exchangeFar(columns, to, t0 + row, ldt);
        }
    }

    /** Exchanges at distances 1 and 2 in adjacent squares, whose rows become rows of squares of {@code to}, one below the other. */
    private static void exchangeNear(float[] from, int f0, int ldf, int columns, float[] to, int t0, int ldt) {
        if (columns < 0) { // see WarmUp.Trial
            for (int i = columns; i < 0; i++) {}
            return;
        }
        for (int column = 0; column < columns; column += SQUARE) {
            for (int row = 0; row < SQUARE; row += 4) {
                int at = f0 + column + row * ldf;
                int target = t0 + (column + row) * ldt;
                FloatVector a = FloatVector.fromArray(FLOATS, from, at);
                FloatVector b = FloatVector.fromArray(FLOATS, from, at + ldf);
                FloatVector c = FloatVector.fromArray(FLOATS, from, at + 2 * ldf);
                FloatVector d = FloatVector.fromArray(FLOATS, from, at + 3 * ldf);
                FloatVector a1 = a.blend(b.rearrange(LANE1), BIT1);
                FloatVector b1 = a.rearrange(LANE1).blend(b, BIT1);
                FloatVector c1 = c.blend(d.rearrange(LANE1), BIT1);
                FloatVector d1 = c.rearrange(LANE1).blend(d, BIT1);
                a1.blend(c1.rearrange(LANE2), BIT2).intoArray(to, target);
                b1.blend(d1.rearrange(LANE2), BIT2).intoArray(to, target + ldt);
                a1.rearrange(LANE2).blend(c1, BIT2).intoArray(to, target + 2 * ldt);
                b1.rearrange(LANE2).blend(d1, BIT2).intoArray(to, target + 3 * ldt);
            }
        }
    }

    /** Exchanges at distances 4 and 8 in squares one below the other, in place. */
    private static void exchangeFar(int rows, float[] to, int t0, int ldt) {
        if (rows < 0) { // see WarmUp.Trial
            for (int i = rows; i < 0; i++) {}
            return;
        }
        for (int first = 0; first < rows; first += SQUARE) {
            for (int row = first; row < first + 4; row++) {
                int at = t0 + row * ldt;
                FloatVector a = FloatVector.fromArray(FLOATS, to, at);
                FloatVector b = FloatVector.fromArray(FLOATS, to, at + 4 * ldt);
                FloatVector c = FloatVector.fromArray(FLOATS, to, at + 8 * ldt);
                FloatVector d = FloatVector.fromArray(FLOATS, to, at + 12 * ldt);
                FloatVector a1 = a.blend(b.rearrange(LANE4), BIT4);
                FloatVector b1 = a.rearrange(LANE4).blend(b, BIT4);
                FloatVector c1 = c.blend(d.rearrange(LANE4), BIT4);
                FloatVector d1 = c.rearrange(LANE4).blend(d, BIT4);
                a1.blend(c1.rearrange(LANE8), BIT8).intoArray(to, at);
                b1.blend(d1.rearrange(LANE8), BIT8).intoArray(to, at + 4 * ldt);
                a1.rearrange(LANE8).blend(c1, BIT8).intoArray(to, at + 8 * ldt);
                b1.rearrange(LANE8).blend(d1, BIT8).intoArray(to, at + 12 * ldt);
            }
        }
    }
}

package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;

/**
 * The recurrence of Mamba-2 (Dao, Gu 2024, "Transformers are SSMs", section 2) of 32 columns of a head's state, token by token:
 * {@code S = a S + b (r x)^T}, and {@code y = S^T c}.
 *
 * <p>Lanes run along the columns and every sum along the rows, one chain of fused multiply-adds in ascending order. Therefore no sum
 * crosses lanes, and the bits are the same at every lane width and in any division of tokens into calls. Two tokens are processed in one
 * pass over the state: each of its elements is read and written once for both, with the same steps as for single tokens.
 *
 * <p>A panel of 128 rows has 16 KB and stays in L1 for all tokens of a call.
 */
public final class StateSpace {
    /** Floats of a token's gates: the decay a, and the rate r, like the gates of {@link DeltaRule}. */
    private static final int GATES = DeltaRule.GATES;

    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int DEPTH = 32;
        private static final int TOKENS = 3;
        private final float[] state = new float[DEPTH * PANEL];
        private final float[] rows = new float[TOKENS * DEPTH];
        private final float[] values = new float[TOKENS * PANEL];
        private final float[] gates = new float[TOKENS * GATES];

        @Override
        public int operations() {
            return PANEL / COUNT * DEPTH * (8 + 5); // the operations for a pair of tokens, and for one token
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                vectors(lengthFactor * TOKENS, state, 0, DEPTH, rows, 0, 0, DEPTH, values, gates);
            }
        }
    });

    private StateSpace() {}

    /**
     * Computes the tokens of one sequence in order.
     *
     * @param tokens at least 1
     * @param state the panel from {@code s0}: {@code depth} rows of 32 floats, changed
     * @param depth elements of b and c
     * @param rows b and c of all tokens
     * @param c0 where the first token's c is
     * @param b0 where the first token's b is
     * @param stride floats from one token's rows to the next
     * @param values 32 floats of each token: its x, which is replaced by its y
     * @param gates the decay and the rate of each token
     */
    public static void panel(
            int tokens,
            float[] state,
            int s0,
            int depth,
            float[] rows,
            int c0,
            int b0,
            int stride,
            float[] values,
            float[] gates) {
        if (WARM_UP.isOver()) {
            vectors(tokens, state, s0, depth, rows, c0, b0, stride, values, gates);
        } else {
            scalars(tokens, state, s0, depth, rows, c0, b0, stride, values, gates);
        }
    }

    static void vectors(
            int tokens,
            float[] state,
            int s0,
            int depth,
            float[] rows,
            int c0,
            int b0,
            int stride,
            float[] values,
            float[] gates) {
        if (tokens < 0) { // see WarmUp.Trial
            for (int i = tokens; i < 0; i++) {}
            return;
        }
        for (int column = 0; column < PANEL; column += 2 * COUNT) {
            int token = 0;
            for (; token + 1 < tokens; token += 2) {
                int c = c0 + token * stride;
                int b = b0 + token * stride;
                int value = token * PANEL + column;
                pair(state, s0 + column, depth, rows, c, b, stride, values, value, gates);
            }
            if (token < tokens) {
                int c = c0 + token * stride;
                int b = b0 + token * stride;
                int value = token * PANEL + column;
                single(state, s0 + column, depth, rows, c, b, values, value, gates);
            }
        }
    }

    /** Computes two vectors of columns of one token. */
    private static void single(
            float[] state, int s0, int depth, float[] rows, int c0, int b0, float[] values, int value, float[] gates) {
        int gate = value / PANEL * GATES;
        FloatVector decay = FloatVector.broadcast(FLOATS, gates[gate]);
        FloatVector rx0 = FloatVector.fromArray(FLOATS, values, value).mul(gates[gate + 1]);
        FloatVector rx1 = FloatVector.fromArray(FLOATS, values, value + COUNT).mul(gates[gate + 1]);
        FloatVector y0 = FloatVector.zero(FLOATS), y1 = FloatVector.zero(FLOATS);
        for (int i = 0; i < depth; i++) {
            int at = s0 + i * PANEL;
            FloatVector b = FloatVector.broadcast(FLOATS, rows[b0 + i]);
            FloatVector c = FloatVector.broadcast(FLOATS, rows[c0 + i]);
            FloatVector si0 =
                    b.fma(rx0, FloatVector.fromArray(FLOATS, state, at).mul(decay));
            FloatVector si1 =
                    b.fma(rx1, FloatVector.fromArray(FLOATS, state, at + COUNT).mul(decay));
            si0.intoArray(state, at);
            si1.intoArray(state, at + COUNT);
            y0 = c.fma(si0, y0);
            y1 = c.fma(si1, y1);
        }
        y0.intoArray(values, value);
        y1.intoArray(values, value + COUNT);
    }

    /** Computes two vectors of columns of two tokens: four independent sums hide a part of the latency of multiply-adds. */
    private static void pair(
            float[] state,
            int s0,
            int depth,
            float[] rows,
            int c0,
            int b0,
            int stride,
            float[] values,
            int value,
            float[] gates) {
        int gate = value / PANEL * GATES;
        FloatVector decay = FloatVector.broadcast(FLOATS, gates[gate]);
        FloatVector nextDecay = FloatVector.broadcast(FLOATS, gates[gate + GATES]);
        int next = value + PANEL;
        float rate = gates[gate + 1];
        float nextRate = gates[gate + GATES + 1];
        FloatVector rx0 = FloatVector.fromArray(FLOATS, values, value).mul(rate);
        FloatVector rx1 = FloatVector.fromArray(FLOATS, values, value + COUNT).mul(rate);
        FloatVector rx2 = FloatVector.fromArray(FLOATS, values, next).mul(nextRate);
        FloatVector rx3 = FloatVector.fromArray(FLOATS, values, next + COUNT).mul(nextRate);
        FloatVector y0 = FloatVector.zero(FLOATS), y1 = FloatVector.zero(FLOATS);
        FloatVector y2 = FloatVector.zero(FLOATS), y3 = FloatVector.zero(FLOATS);
        for (int i = 0; i < depth; i++) {
            int at = s0 + i * PANEL;
            FloatVector b = FloatVector.broadcast(FLOATS, rows[b0 + i]);
            FloatVector c = FloatVector.broadcast(FLOATS, rows[c0 + i]);
            FloatVector si0 =
                    b.fma(rx0, FloatVector.fromArray(FLOATS, state, at).mul(decay));
            FloatVector si1 =
                    b.fma(rx1, FloatVector.fromArray(FLOATS, state, at + COUNT).mul(decay));
            y0 = c.fma(si0, y0);
            y1 = c.fma(si1, y1);
            b = FloatVector.broadcast(FLOATS, rows[b0 + stride + i]);
            c = FloatVector.broadcast(FLOATS, rows[c0 + stride + i]);
            si0 = b.fma(rx2, si0.mul(nextDecay));
            si1 = b.fma(rx3, si1.mul(nextDecay));
            si0.intoArray(state, at);
            si1.intoArray(state, at + COUNT);
            y2 = c.fma(si0, y2);
            y3 = c.fma(si1, y3);
        }
        y0.intoArray(values, value);
        y1.intoArray(values, value + COUNT);
        y2.intoArray(values, next);
        y3.intoArray(values, next + COUNT);
    }

    static void scalars(
            int tokens,
            float[] state,
            int s0,
            int depth,
            float[] rows,
            int c0,
            int b0,
            int stride,
            float[] values,
            float[] gates) {
        for (int token = 0; token < tokens; token++) {
            float decay = gates[token * GATES];
            float rate = gates[token * GATES + 1];
            for (int column = 0; column < PANEL; column++) {
                float rx = values[token * PANEL + column] * rate;
                float y = 0f;
                for (int i = 0; i < depth; i++) {
                    int at = s0 + i * PANEL + column;
                    state[at] = Math.fma(rows[b0 + token * stride + i], rx, state[at] * decay);
                    y = Math.fma(rows[c0 + token * stride + i], state[at], y);
                }
                values[token * PANEL + column] = y;
            }
        }
    }
}

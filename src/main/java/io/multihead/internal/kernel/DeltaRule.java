package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;

/**
 * The gated delta rule (Yang et al. 2025, equation 10) of 32 columns of a head's state, token by token:
 * {@code S = a S + k d} with {@code d = b (v - a S^T k)}, and {@code o = S^T q}.
 *
 * <p>Lanes run along the columns and every sum along the rows, one chain of fused multiply-adds in ascending order. Therefore no sum
 * crosses lanes, and the bits are the same at every lane width and in any division of tokens into calls. Columns do not depend on each
 * other: further columns of a head are separate panels, for other threads.
 *
 * <p>A panel of 128 rows has 16 KB and stays in L1 for all tokens of a call. If the next token is known, its {@code S^T k} is summed in the
 * pass that writes S, so that each token reads and writes the panel once, with four operations per element. Rows are 32 floats apart: if a
 * row held all columns, rows would be 512 bytes apart, and a panel would fall into an eighth of the sets of L1.
 */
public final class DeltaRule {
    /** Floats of a token's gates: the decay a, and the rate b. */
    public static final int GATES = 2;

    private static final WarmUp WARM_UP = new WarmUp(new WarmUp.Trial() {
        private static final int DEPTH = 32;
        private static final int TOKENS = 3;
        private final float[] state = new float[DEPTH * PANEL];
        private final float[] rows = new float[TOKENS * DEPTH];
        private final float[] values = new float[TOKENS * PANEL];
        private final float[] gates = new float[TOKENS * GATES];

        @Override
        public int operations() {
            return PANEL / COUNT * DEPTH * (2 + 6 * TOKENS);
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                vectors(lengthFactor * TOKENS, state, 0, DEPTH, rows, 0, 0, DEPTH, values, gates);
            }
        }
    });

    private DeltaRule() {}

    /**
     * Computes the tokens of one sequence in order.
     *
     * @param tokens at least 1
     * @param state the panel from {@code s0}: {@code depth} rows of 32 floats, changed
     * @param depth elements of a key
     * @param rows queries and keys of all tokens
     * @param q0 where the first token's query is
     * @param k0 where the first token's key is
     * @param stride floats from one token's rows to the next
     * @param values 32 floats of each token: its value, which is replaced by its output
     * @param gates the decay and the rate of each token
     */
    public static void panel(
            int tokens,
            float[] state,
            int s0,
            int depth,
            float[] rows,
            int q0,
            int k0,
            int stride,
            float[] values,
            float[] gates) {
        if (WARM_UP.isOver()) {
            vectors(tokens, state, s0, depth, rows, q0, k0, stride, values, gates);
        } else {
            scalars(tokens, state, s0, depth, rows, q0, k0, stride, values, gates);
        }
    }

    static void vectors(
            int tokens,
            float[] state,
            int s0,
            int depth,
            float[] rows,
            int q0,
            int k0,
            int stride,
            float[] values,
            float[] gates) {
        if (tokens <= 0) { // see WarmUp.Trial
            for (int i = tokens; i < 0; i++) {}
            return;
        }
        for (int column = 0; column < PANEL; column += 2 * COUNT) {
            int first = s0 + column;
            FloatVector recalled0 = FloatVector.zero(FLOATS), recalled1 = FloatVector.zero(FLOATS);
            for (int i = 0; i < depth; i++) {
                FloatVector k = FloatVector.broadcast(FLOATS, rows[k0 + i]);
                recalled0 = k.fma(FloatVector.fromArray(FLOATS, state, first + i * PANEL), recalled0);
                recalled1 = k.fma(FloatVector.fromArray(FLOATS, state, first + COUNT + i * PANEL), recalled1);
            }
            for (int token = 0; token < tokens; token++) {
                int query = q0 + token * stride;
                int key = k0 + token * stride;
                int next = token + 1 < tokens ? key + stride : key; // the sum of the last token is not used
                int value = token * PANEL + column;
                float decay = gates[token * GATES];
                FloatVector a = FloatVector.broadcast(FLOATS, decay);
                FloatVector minus = FloatVector.broadcast(FLOATS, -decay);
                FloatVector b = FloatVector.broadcast(FLOATS, gates[token * GATES + 1]);
                FloatVector change0 = minus.fma(recalled0, FloatVector.fromArray(FLOATS, values, value))
                        .mul(b);
                FloatVector change1 = minus.fma(recalled1, FloatVector.fromArray(FLOATS, values, value + COUNT))
                        .mul(b);
                FloatVector output0 = FloatVector.zero(FLOATS), output1 = FloatVector.zero(FLOATS);
                recalled0 = FloatVector.zero(FLOATS);
                recalled1 = FloatVector.zero(FLOATS);
                for (int i = 0; i < depth; i++) {
                    int at = first + i * PANEL;
                    FloatVector k = FloatVector.broadcast(FLOATS, rows[key + i]);
                    FloatVector s0i = k.fma(
                            change0, FloatVector.fromArray(FLOATS, state, at).mul(a));
                    FloatVector s1i = k.fma(
                            change1,
                            FloatVector.fromArray(FLOATS, state, at + COUNT).mul(a));
                    s0i.intoArray(state, at);
                    s1i.intoArray(state, at + COUNT);
                    FloatVector q = FloatVector.broadcast(FLOATS, rows[query + i]);
                    output0 = q.fma(s0i, output0);
                    output1 = q.fma(s1i, output1);
                    FloatVector n = FloatVector.broadcast(FLOATS, rows[next + i]);
                    recalled0 = n.fma(s0i, recalled0);
                    recalled1 = n.fma(s1i, recalled1);
                }
                output0.intoArray(values, value);
                output1.intoArray(values, value + COUNT);
            }
        }
    }

    static void scalars(
            int tokens,
            float[] state,
            int s0,
            int depth,
            float[] rows,
            int q0,
            int k0,
            int stride,
            float[] values,
            float[] gates) {
        for (int token = 0; token < tokens; token++) {
            float decay = gates[token * GATES];
            float rate = gates[token * GATES + 1];
            for (int column = 0; column < PANEL; column++) {
                float recalled = 0f;
                for (int i = 0; i < depth; i++) {
                    recalled = Math.fma(rows[k0 + token * stride + i], state[s0 + i * PANEL + column], recalled);
                }
                float change = Math.fma(-decay, recalled, values[token * PANEL + column]) * rate;
                float output = 0f;
                for (int i = 0; i < depth; i++) {
                    int at = s0 + i * PANEL + column;
                    state[at] = Math.fma(rows[k0 + token * stride + i], change, state[at] * decay);
                    output = Math.fma(rows[q0 + token * stride + i], state[at], output);
                }
                values[token * PANEL + column] = output;
            }
        }
    }
}

package io.multihead.reference;

import io.multihead.internal.base.Checks;

/**
 * The gated delta rule of one head as plain loops in {@code double}, token by token (Yang et al. 2025, "Gated Delta Networks: Improving
 * Mamba2 with Delta Rule", equation 10). The state S has a row for each element of a key and a column for each element of a value:
 * {@code S_t = a_t (I - b_t k_t k_t^T) S_(t-1) + b_t k_t v_t^T} and {@code o_t = S_t^T q_t}. Arrays are row-major.
 *
 * @param queries {@code [tokens, keyDim]}
 * @param keys {@code [tokens, keyDim]}
 * @param values {@code [tokens, valueDim]}
 * @param decays a, the factors of the state, one for each token
 * @param rates b, the part of a value that is written, one for each token
 */
@SuppressWarnings("ArrayRecordComponent")
public record ReferenceDeltaRule(double[] queries, double[] keys, double[] values, double[] decays, double[] rates) {
    /** Checks the sizes. */
    public ReferenceDeltaRule {
        int tokens = Checks.notNull(decays, "decays").length;
        Checks.length(Checks.notNull(rates, "rates").length, tokens, "rates", "one per decay");
        requireRows(queries, tokens, "queries");
        requireRows(keys, tokens, "keys");
        requireRows(values, tokens, "values");
        Checks.length(keys.length, queries.length, "keys", "as long as queries");
    }

    /** Fails unless an array has the same number of elements for each token. */
    static void requireRows(double[] rows, int tokens, String argument) {
        int length = Checks.notNull(rows, argument).length;
        if (tokens == 0 ? length != 0 : length % tokens != 0) {
            throw Checks.fail(argument, length + " elements", "expected as many for each of " + tokens + " tokens");
        }
    }

    /**
     * Computes all tokens.
     *
     * @param state {@code [keyDim, valueDim]}, the state before the first token; replaced by the state
     *     after the last token
     * @return {@code [tokens, valueDim]}, new
     */
    public double[] forward(double[] state) {
        double[] outputs = new double[values.length];
        int tokens = decays.length;
        int keyDim = tokens == 0 ? 0 : keys.length / tokens;
        int valueDim = tokens == 0 ? 0 : values.length / tokens;
        Checks.length(
                Checks.notNull(state, "state").length,
                tokens == 0 ? state.length : keyDim * valueDim,
                "state",
                "keyDim x valueDim");
        for (int token = 0; token < tokens; token++) {
            for (int column = 0; column < valueDim; column++) {
                double recalled = 0;
                for (int row = 0; row < keyDim; row++) {
                    recalled += decays[token] * state[row * valueDim + column] * keys[token * keyDim + row];
                }
                double change = rates[token] * (values[token * valueDim + column] - recalled);
                double output = 0;
                for (int row = 0; row < keyDim; row++) {
                    int at = row * valueDim + column;
                    state[at] = decays[token] * state[at] + keys[token * keyDim + row] * change;
                    output += state[at] * queries[token * keyDim + row];
                }
                outputs[token * valueDim + column] = output;
            }
        }
        return outputs;
    }
}

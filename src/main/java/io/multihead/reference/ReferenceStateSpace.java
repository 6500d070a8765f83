package io.multihead.reference;

import io.multihead.internal.base.Checks;

/**
 * The recurrence of one head of Mamba-2 as plain loops in {@code double}, token by token (Dao, Gu 2024, "Transformers are SSMs: Generalized Models
 * and Efficient Algorithms Through Structured State Space Duality", section 2). The state S has a row for each element of b and c, and a column for
 * each element of x: {@code S_t = a_t S_(t-1) + b_t (r_t x_t)^T} and {@code y_t = S_t^T c_t}. Arrays are row-major.
 *
 * @param inputs x, {@code [tokens, headDim]}
 * @param writes b, {@code [tokens, stateDim]}
 * @param reads c, {@code [tokens, stateDim]}
 * @param decays a, the factors of the state, one for each token
 * @param rates r, the part of x that is written, one for each token
 */
@SuppressWarnings("ArrayRecordComponent")
public record ReferenceStateSpace(double[] inputs, double[] writes, double[] reads, double[] decays, double[] rates) {
    /** Checks the sizes. */
    public ReferenceStateSpace {
        int tokens = Checks.notNull(decays, "decays").length;
        Checks.length(Checks.notNull(rates, "rates").length, tokens, "rates", "one per decay");
        ReferenceDeltaRule.requireRows(inputs, tokens, "inputs");
        ReferenceDeltaRule.requireRows(writes, tokens, "writes");
        ReferenceDeltaRule.requireRows(reads, tokens, "reads");
        Checks.length(reads.length, writes.length, "reads", "as long as writes");
    }

    /**
     * Computes all tokens.
     *
     * @param state {@code [stateDim, headDim]}, the state before the first token; replaced by the state
     *     after the last token
     * @return y, {@code [tokens, headDim]}, new
     */
    public double[] forward(double[] state) {
        double[] outputs = new double[inputs.length];
        int tokens = decays.length;
        int stateDim = tokens == 0 ? 0 : writes.length / tokens;
        int headDim = tokens == 0 ? 0 : inputs.length / tokens;
        Checks.length(
                Checks.notNull(state, "state").length,
                tokens == 0 ? state.length : stateDim * headDim,
                "state",
                "stateDim x headDim");
        for (int token = 0; token < tokens; token++) {
            for (int column = 0; column < headDim; column++) {
                double x = inputs[token * headDim + column];
                double output = 0;
                for (int row = 0; row < stateDim; row++) {
                    int at = row * headDim + column;
                    state[at] = decays[token] * state[at] + writes[token * stateDim + row] * rates[token] * x;
                    output += state[at] * reads[token * stateDim + row];
                }
                outputs[token * headDim + column] = output;
            }
        }
        return outputs;
    }
}

package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.ScoreRule;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;

/** Writes the results of a task: {@code O / l} and log-sum-exp. Belongs to one thread. */
final class OutputWriter {
    private final Scratch memory;
    private final QueryTile queries;
    private float[] divisors = new float[0];

    OutputWriter(Scratch memory, QueryTile queries) {
        this.memory = memory;
        this.queries = queries;
    }

    /** Normalizes and writes head by head, since the rows of a task may belong to several query heads. */
    void write(ForwardArguments call, Packer packer, OnlineSoftmax softmax) {
        int rows = queries.rows();
        ScoreRule rule = call.problem.scores();
        divisors = memory.atLeast(divisors, rows);
        Tensor to = call.tensors.output();
        Tensor lse = call.tensors.logSumExp();
        int valueDim = call.problem.valueDim();
        for (int row = 0; row < rows; ) {
            int run = queries.rowsOfHead(row);
            float sink = rule.sink(queries.head(row));
            for (int r = row; r < row + run; r++) {
                divisors[r] = softmax.normalize(r, sink);
                if (lse != null) {
                    Positions.set(lse, softmax.logSumExp(r, sink), queries.position(lse, r));
                }
            }
            packer.write(
                    softmax.output(),
                    softmax.at(row),
                    softmax.stride(),
                    run,
                    valueDim,
                    to,
                    queries.position(to, row),
                    to.stride(2),
                    to.stride(3));
            row += run;
        }
    }

    /** Returns the divisor of a row's weights, 0 for a row that saw no key; to be called after {@link #write}. */
    float divisor(int row) {
        return divisors[row];
    }
}

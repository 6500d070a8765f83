package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;

/** Late interaction (Khattab and Zaharia 2020, equation 3) as plain loops in {@code double}. */
public final class ReferenceMaxSim {
    private ReferenceMaxSim() {}

    /**
     * The scores, and the bounds of the error of an f32 computation.
     *
     * @param scores one for each passage
     * @param errorScale for each score, the sum over the query's tokens of the largest bound of a product ({@link Tolerance#gemm}), since
     *     the error of a maximum is at most the largest error of a product. Half an ulp of the score is added, since it is rounded once
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Result(double[] scores, double[] errorScale) {
        /** Checks that no component is null. */
        public Result {
            Checks.notNull(scores, "scores");
            Checks.notNull(errorScale, "errorScale");
        }
    }

    /**
     * Computes the scores of passages.
     *
     * @param query {@code [query tokens, dim]}
     * @param tokens {@code [tokens, dim]}, the vectors of all passages one after another
     * @param offsets for each passage the index of its first token, and at the end the number of all tokens
     * @return the scores as new arrays
     * @throws IllegalArgumentException if shapes do not fit, vectors are empty, or offsets do not ascend from 0 to the number of tokens
     */
    public static Result scores(Tensor query, Tensor tokens, long... offsets) {
        Values.requireShape(query, "query", -1, -1);
        Values.requireShape(tokens, "tokens", -1, query.dim(1));
        Checks.requireOffsets(offsets, "offsets", tokens.dim(0), tokens.shape());
        if (query.dim(1) == 0) {
            throw Checks.fail("query", "shape " + query.shape(), "expected vectors of at least one element");
        }
        int passages = offsets.length - 1;
        double[] left = Values.of(query, "query");
        double[] right = Values.of(tokens, "tokens");
        int dim = (int) query.dim(1);
        Result result = new Result(new double[passages], new double[passages]);
        for (int passage = 0; passage < passages; passage++) {
            for (int i = 0; i < left.length / dim; i++) {
                double best = Double.NEGATIVE_INFINITY;
                double worst = 0;
                for (int j = (int) offsets[passage]; j < offsets[passage + 1]; j++) {
                    double sum = 0;
                    double absolute = 0;
                    for (int d = 0; d < dim; d++) {
                        double product = left[i * dim + d] * right[j * dim + d];
                        sum += product;
                        absolute += Math.abs(product);
                    }
                    best = Math.max(best, sum);
                    worst = Math.max(worst, Tolerance.gemm(dim, absolute, 0));
                }
                result.scores[passage] += best;
                result.errorScale[passage] += worst;
            }
            result.errorScale[passage] += Math.abs(result.scores[passage]) * 0x1p-24;
        }
        return result;
    }
}

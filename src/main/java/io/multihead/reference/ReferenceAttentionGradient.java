package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The gradient of attention as plain loops in {@code double}. With weights {@code P}, dropout factors {@code M}, and the loss's
 * gradients {@code dO}, {@code dW} and {@code dL} with respect to output, weights and log-sum-exp:
 *
 * <pre>
 * dP = M o (dO V^T) + dW,   D_i = sum_j P_ij dP_ij,   dS = P o (dP - D + dL)
 * dX = F o dS,   dQ = scale dX K,   dK = scale dX^T Q,   dV = (M o P)^T dO
 * </pre>
 *
 * <p>S are the scores that enter the softmax, X the scaled scores before the rule changes them, and F the rule's {@linkplain
 * ScoreRule#derivative derivative}: 1 except for a soft-cap, where it is {@code 1 - t^2} with {@code t = tanh(x / cap)}.
 *
 * <p>Error bounds, with {@code kappa_ij} as in forward, {@code delta_ij = 1 + kappa_ij + sum_j p_ij kappa_ij}:
 * {@code B_dS = u p (delta |dP - D| + sum_j p delta |dP - D| + sum |dO||v| + sum_j p sum |dO||v|)}, where the second term is needed
 * because D is computed from the stored output; {@code B_dV = u sum p delta |dO|}, {@code B_dX = f B_dS + |dS| B_f},
 * {@code B_dQ = scale sum (B_dX + u |dX|) |k|}, and B_dK has the same form. {@code B_f = 0} where f is 1. With a cap, the error of f is
 * the change of f if x changes by its error, {@code u kappa}. In addition, t has the rounding error {@code u |t|}, which
 * {@code 1 - t^2} doubles, and {@code 1 - t^2} is rounded: {@code B_f = |f(x + u kappa) - f(x - u kappa)| / 2 + u (2 t^2 + f)}.
 */
public final class ReferenceAttentionGradient {
    private static final double U = 0x1p-24;
    private static final double SMALLEST = 0x1p-149;
    private static final double NORMAL = 0x1p-126;

    private final ReferenceAttention.Call call;
    private final ReferenceAttention.Result forward;
    private final double[] query;
    private final double[] key;
    private final double[] value;
    private final double[] outputGradient;
    private final double @Nullable [] weightsGradient;
    private final double @Nullable [] logSumExpGradient;
    private final int queries;
    private final int keys;
    private final int headDim;
    private final int valueDim;
    private final int group;
    private final Result result;

    private ReferenceAttentionGradient(ReferenceAttention.Call call, Upstream upstream) {
        this.call = call;
        forward = call.forward();
        query = Values.of(call.query(), "query");
        key = Values.of(call.key(), "key");
        value = Values.of(call.value(), "value");
        outputGradient = Values.of(upstream.output, "output");
        weightsGradient = upstream.weights == null ? null : Values.of(upstream.weights, "weights");
        logSumExpGradient = upstream.logSumExp == null ? null : Values.of(upstream.logSumExp, "logSumExp");
        queries = (int) call.query().dim(2);
        keys = (int) call.key().dim(2);
        headDim = (int) call.query().dim(3);
        valueDim = (int) call.value().dim(3);
        group = (int) (call.query().dim(1) / Math.max(1, call.key().dim(1)));
        result = new Result(
                Part.of(query.length),
                Part.of(key.length),
                Part.of(value.length),
                Part.of(forward.weights().length),
                forward.maxScore());
    }

    /**
     * The loss's gradients with respect to the results of forward.
     *
     * @param output {@code [batch, queryHeads, queries, valueDim]}
     * @param logSumExp {@code [batch, queryHeads, queries]}, or null for 0
     * @param weights {@code [batch, queryHeads, queries, keys]}, or null for 0
     */
    public record Upstream(
            Tensor output,
            @Nullable Tensor logSumExp,
            @Nullable Tensor weights) {
        /** Checks that the gradient of the output is present. */
        public Upstream {
            Checks.notNull(output, "output");
        }
    }

    /**
     * A gradient, and the bounds of the error of an f32 computation.
     *
     * @param values row-major
     * @param errorScale per element, the bound of {@link Tolerance}
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Part(double[] values, double[] errorScale) {
        /** Checks that no component is null. */
        public Part {
            Checks.notNull(values, "values");
            Checks.notNull(errorScale, "errorScale");
        }

        private static Part of(int length) {
            return new Part(new double[length], new double[length]);
        }
    }

    /**
     * The gradients.
     *
     * @param query {@code [batch, queryHeads, queries, headDim]}
     * @param key {@code [batch, keyValueHeads, keys, headDim]}
     * @param value {@code [batch, keyValueHeads, keys, valueDim]}
     * @param score {@code [batch, queryHeads, queries, keys]}: dS, which is the gradient of an added bias
     * @param maxScore the largest absolute score that any query sees
     */
    public record Result(Part query, Part key, Part value, Part score, double maxScore) {
        /** Checks that no component is null. */
        public Result {
            Checks.notNull(query, "query");
            Checks.notNull(key, "key");
            Checks.notNull(value, "value");
            Checks.notNull(score, "score");
        }
    }

    /**
     * Computes the gradients.
     *
     * @param call the inputs of attention
     * @param upstream the loss's gradients with respect to the results
     * @return the gradients as new arrays
     * @throws IllegalArgumentException if the shape of a gradient differs from the result's
     */
    public static Result of(ReferenceAttention.Call call, Upstream upstream) {
        long[] sizes = Checks.notNull(call, "call").query().shape().toArray();
        Tensor weights = Checks.notNull(upstream, "upstream").weights;
        Values.requireShape(
                upstream.output,
                "output",
                sizes[0],
                sizes[1],
                sizes[2],
                call.value().dim(3));
        if (upstream.logSumExp != null) {
            Values.requireShape(upstream.logSumExp, "logSumExp", sizes[0], sizes[1], sizes[2]);
        }
        if (weights != null) {
            Values.requireShape(
                    weights, "weights", sizes[0], sizes[1], sizes[2], call.key().dim(2));
        }
        ReferenceAttentionGradient gradient = new ReferenceAttentionGradient(call, upstream);
        int rows = gradient.forward.logSumExp().length;
        for (int row = 0; row < rows; row++) {
            gradient.row(row);
        }
        return gradient.result;
    }

    /** Adds the contribution of one query. */
    private void row(int row) {
        int kv = (row / queries / group) * keys;
        double[] product = new double[keys];
        double[] size = new double[keys];
        double[] kappa = new double[keys];
        double[] scaled = new double[keys];
        double mean = 0;
        double meanSize = 0;
        double meanKappa = 0;
        for (int j = 0; j < keys; j++) {
            double p = weight(row, j);
            if (seen(row, j)) {
                product(row, kv + j, j, product, size);
                scaled[j] = call.scale() * dot(row, kv + j);
                kappa[j] = kappa(row, kv + j, j, scaled[j]);
                mean += p * product[j];
                meanSize += p * size[j];
                meanKappa += p * kappa[j];
            }
        }
        double added = logSumExpGradient == null ? 0 : logSumExpGradient[row];
        double meanError = 0;
        for (int j = 0; j < keys; j++) {
            // a weight below 2^-126 may also be lost in the output
            double lost = weight(row, j) * (1 + kappa[j] + meanKappa) + NORMAL / U;
            meanError += seen(row, j) ? lost * Math.abs(product[j] - mean) : 0;
        }
        for (int j = 0; j < keys; j++) {
            if (seen(row, j)) {
                double p = weight(row, j);
                double apart = product[j] - mean + added;
                double delta = 1 + kappa[j] + meanKappa;
                double score = p * apart;
                // D is computed from forward's output, with the errors of all its weights; an addend rounds like one
                // more product
                double bound = p * (delta * Math.abs(apart) + meanError + size[j] + meanSize + Math.abs(added))
                        + NORMAL / U * Math.abs(apart);
                result.score.values[row * keys + j] = score;
                result.score.errorScale[row * keys + j] = U * bound + SMALLEST;
                double factor = derivative(row, j, scaled[j]);
                double factorError = factorError(row, j, scaled[j], kappa[j]);
                spread(row, kv + j, factor * score, factor * bound + Math.abs(score) * factorError);
                values(row, kv + j, j, p, delta);
            }
        }
    }

    /** Computes {@code dP} of one weight, and the sum of the sizes of its addends. */
    private void product(int row, int kvRow, int j, double[] product, double[] size) {
        double factor = call.dropout().factor(row / queries, row % queries, j);
        for (int d = 0; d < valueDim; d++) {
            double addend = factor * outputGradient[row * valueDim + d] * value[kvRow * valueDim + d];
            product[j] += addend;
            size[j] += Math.abs(addend);
        }
        if (weightsGradient != null) {
            product[j] += weightsGradient[row * keys + j];
            size[j] += Math.abs(weightsGradient[row * keys + j]);
        }
    }

    private double dot(int row, int kvRow) {
        double dot = 0;
        for (int d = 0; d < headDim; d++) {
            dot += query[row * headDim + d] * key[kvRow * headDim + d];
        }
        return dot;
    }

    private double kappa(int row, int kvRow, int j, double scaled) {
        double absolute = 0;
        for (int d = 0; d < headDim; d++) {
            absolute += Math.abs(query[row * headDim + d] * key[kvRow * headDim + d]);
        }
        double bias = Math.abs(score(row, j, scaled) - scaled);
        return Math.abs(call.scale()) * absolute + (Double.isFinite(bias) ? bias : 0);
    }

    private double derivative(int row, int j, double scaled) {
        int heads = (int) call.query().dim(1);
        int head = row / queries;
        return call.rule().derivative(head / heads, head % heads, row % queries, j, scaled);
    }

    /** Returns the largest error of the rule's derivative, in units of u. */
    private double factorError(int row, int j, double scaled, double kappa) {
        double factor = derivative(row, j, scaled);
        double moved = Math.abs(derivative(row, j, scaled + U * kappa) - derivative(row, j, scaled - U * kappa));
        return factor == 1 ? 0 : moved / (2 * U) + 2 * (1 - factor) + factor;
    }

    /** Computes {@code dQ += scale dX K} and {@code dK += scale dX Q}. */
    private void spread(int row, int kvRow, double score, double bound) {
        double factor = Math.abs(call.scale());
        for (int d = 0; d < headDim; d++) {
            int q = row * headDim + d;
            int k = kvRow * headDim + d;
            result.query.values[q] += call.scale() * score * key[k];
            result.query.errorScale[q] += U * factor * (bound + Math.abs(score)) * Math.abs(key[k]) + SMALLEST;
            result.key.values[k] += call.scale() * score * query[q];
            result.key.errorScale[k] += U * factor * (bound + Math.abs(score)) * Math.abs(query[q]) + SMALLEST;
        }
    }

    /** Computes {@code dV += M P dO}. */
    private void values(int row, int kvRow, int j, double p, double delta) {
        double factor = call.dropout().factor(row / queries, row % queries, j);
        for (int d = 0; d < valueDim; d++) {
            double upstream = factor * outputGradient[row * valueDim + d];
            result.value.values[kvRow * valueDim + d] += p * upstream;
            result.value.errorScale[kvRow * valueDim + d] +=
                    U * p * delta * Math.abs(upstream) + NORMAL * Math.abs(upstream) + SMALLEST;
        }
    }

    private double weight(int row, int j) {
        return forward.weights()[row * keys + j];
    }

    private boolean seen(int row, int j) {
        return score(row, j, 0) != Double.NEGATIVE_INFINITY;
    }

    private double score(int row, int j, double scaled) {
        int heads = (int) call.query().dim(1);
        int head = row / queries;
        return call.rule().apply(head / heads, head % heads, row % queries, j, scaled);
    }
}

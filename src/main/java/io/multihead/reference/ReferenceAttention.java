package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Scaled dot-product attention (Vaswani et al. 2017, equation 1) as plain loops in {@code double}.
 *
 * <p>Query {@code [batch, queryHeads, queries, headDim]}, key {@code [batch, keyValueHeads, keys, headDim]}, value {@code [batch,
 * keyValueHeads, keys, valueDim]}; query head {@code h} uses key head {@code h / (queryHeads / keyValueHeads)}.
 */
public final class ReferenceAttention {
    private static final double U = 0x1p-24;

    private final double[] query;
    private final double[] key;
    private final double[] value;
    private final double scale;
    private final ScoreRule rule;
    private final ReferenceDropout dropout;
    private final int batches;
    private final int heads;
    private final int kvHeads;
    private final int queries;
    private final int keys;
    private final int headDim;
    private final int valueDim;
    private double scoreError;
    /** The largest rounding error of an f32 chain for the score computed last. */
    private double lost;

    private ReferenceAttention(Call call) {
        query = Values.of(call.query, "query");
        key = Values.of(call.key, "key");
        value = Values.of(call.value, "value");
        scale = call.scale;
        rule = call.rule;
        dropout = call.dropout;
        batches = (int) call.query.dim(0);
        heads = (int) call.query.dim(1);
        kvHeads = (int) call.key.dim(1);
        queries = (int) call.query.dim(2);
        keys = (int) call.key.dim(2);
        headDim = (int) call.query.dim(3);
        valueDim = (int) call.value.dim(3);
    }

    /**
     * The inputs of attention.
     *
     * @param query {@code [batch, queryHeads, queries, headDim]}
     * @param key {@code [batch, keyValueHeads, keys, headDim]}
     * @param value {@code [batch, keyValueHeads, keys, valueDim]}
     * @param scale the factor of scores
     * @param rule masks and biases
     * @param dropout factors of the weights
     */
    public record Call(Tensor query, Tensor key, Tensor value, double scale, ScoreRule rule, ReferenceDropout dropout) {
        /**
         * Checks the shapes.
         *
         * @throws IllegalArgumentException if shapes do not fit each other, or an array cannot hold all weights
         */
        public Call {
            Values.requireShape(query, "query", -1, -1, -1, -1);
            Values.requireShape(key, "key", query.dim(0), -1, -1, query.dim(3));
            Values.requireShape(value, "value", key.dim(0), key.dim(1), key.dim(2), -1);
            Checks.notNull(rule, "rule");
            Checks.notNull(dropout, "dropout");
            if (key.dim(1) == 0 ? query.dim(1) != 0 : query.dim(1) % key.dim(1) != 0) {
                throw Checks.fail(
                        "query",
                        "shape " + query.shape(),
                        "expected a multiple of the " + key.dim(1) + " heads of key " + key.shape());
            }
            Checks.product("query x key", query.dim(0), query.dim(1), query.dim(2), Math.max(1, key.dim(2)));
            Checks.product("query x value", query.dim(0), query.dim(1), query.dim(2), Math.max(1, value.dim(3)));
        }

        /**
         * {@return this call with a sink per query head (GPT-OSS): one more key with a given score and value 0, which every query sees}. It
         * is the last key of weights and of the gradients of scores.
         *
         * @param sinks the scores of the sinks, one per query head
         * @throws IllegalArgumentException if the number of sinks differs from the number of query
         *     heads
         */
        public Call withSinks(double... sinks) {
            Checks.length(Checks.notNull(sinks, "sinks").length, query.dim(1), "sinks", "one per query head");
            long sink = key.dim(2);
            ScoreRule others = rule;
            ScoreRule withSink = new ScoreRule() {
                @Override
                public double apply(long b, long h, long i, long j, double score) {
                    return j == sink ? sinks[(int) h] : others.apply(b, h, i, j, score);
                }

                @Override
                public double derivative(long b, long h, long i, long j, double score) {
                    return j == sink ? 0 : others.derivative(b, h, i, j, score);
                }
            };
            return new Call(query, Values.oneRowMore(key), Values.oneRowMore(value), scale, withSink, dropout);
        }

        /**
         * Computes attention.
         *
         * @return the results as new arrays; log-sum-exp and weights are without dropout
         */
        public Result forward() {
            return new ReferenceAttention(this).all();
        }

        /**
         * Computes only the scores. A shorter rule gives the scores of an earlier stage: {@link ScoreRule#NONE} gives the scaled scores,
         * and {@link ScoreRule#softCap} gives the capped scores.
         *
         * @return the scores after the rule, as new arrays
         */
        public Scores scores() {
            return new ReferenceAttention(this).allScores();
        }
    }

    /**
     * The scores after a rule, and the bounds of the error of an f32 computation.
     *
     * @param scores {@code [batch, queryHeads, queries, keys]}, row-major; minus infinity for a key that the rule removes
     * @param errors for each score the largest error of an f32 chain of fused multiply-adds; {@link Result#scoreError} is the
     *     largest of all scores
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Scores(double[] scores, double[] errors) {
        /** Checks that no component is null. */
        public Scores {
            Checks.notNull(scores, "scores");
            Checks.notNull(errors, "errors");
        }
    }

    /**
     * The results of attention, and values that bound the error of an f32 computation.
     *
     * @param output {@code [batch, queryHeads, queries, valueDim]}, row-major
     * @param logSumExp {@code [batch, queryHeads, queries]}
     * @param weights {@code [batch, queryHeads, queries, keys]}
     * @param errorScale for each output element, the bound B of {@link Tolerance}, which depends on its condition
     * @param maxScore the largest absolute score that any query sees
     * @param scoreError the largest error of an f32 chain of fused multiply-adds for a score that any query sees: u times the sum of
     *     its absolute partial sums (Higham 2002, section 3.1), and u per product for queries that are scaled and rounded first
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Result(
            double[] output,
            double[] logSumExp,
            double[] weights,
            double[] errorScale,
            double maxScore,
            double scoreError) {
        /** Checks that no component is null. */
        public Result {
            Checks.notNull(output, "output");
            Checks.notNull(logSumExp, "logSumExp");
            Checks.notNull(weights, "weights");
            Checks.notNull(errorScale, "errorScale");
        }
    }

    /**
     * Computes attention.
     *
     * @param query {@code [batch, queryHeads, queries, headDim]}
     * @param key {@code [batch, keyValueHeads, keys, headDim]}
     * @param value {@code [batch, keyValueHeads, keys, valueDim]}
     * @param scale the factor of scores
     * @param rule masks and biases
     * @return the results as new arrays
     */
    public static Result forward(Tensor query, Tensor key, Tensor value, double scale, ScoreRule rule) {
        return new Call(query, key, value, scale, rule, ReferenceDropout.NONE).forward();
    }

    private Result all() {
        int rows = batches * heads * queries;
        Result result = new Result(
                new double[rows * valueDim],
                new double[rows],
                new double[rows * keys],
                new double[rows * valueDim],
                0,
                0);
        double maxScore = 0;
        int row = 0;
        for (int b = 0; b < batches; b++) {
            for (int h = 0; h < heads; h++) {
                for (int i = 0; i < queries; i++) {
                    maxScore = Math.max(maxScore, row(b, h, i, row++, result));
                }
            }
        }
        return new Result(result.output, result.logSumExp, result.weights, result.errorScale, maxScore, scoreError);
    }

    private Scores allScores() {
        double[] scores = new double[batches * heads * queries * keys];
        double[] errors = new double[scores.length];
        double[] kappa = new double[keys];
        for (int at = 0; at < scores.length; at++) {
            int row = at / keys;
            scores[at] = score(row / queries / heads, row / queries % heads, row % queries, at % keys, kappa);
            errors[at] = lost;
        }
        return new Scores(scores, errors);
    }

    /** Computes one query, and returns its largest absolute score. */
    private double row(int b, int h, int i, int row, Result result) {
        double[] score = new double[keys];
        double[] kappa = new double[keys];
        double max = Double.NEGATIVE_INFINITY;
        double largest = 0;
        for (int j = 0; j < keys; j++) {
            score[j] = score(b, h, i, j, kappa);
            max = Math.max(max, score[j]); // the maximum is NaN if any score is NaN
            if (score[j] != Double.NEGATIVE_INFINITY) {
                largest = Math.max(largest, Math.abs(score[j]));
            }
        }
        double sum = 0;
        for (int j = 0; j < keys; j++) {
            sum += score[j] == Double.NEGATIVE_INFINITY ? 0 : Math.exp(score[j] - max);
        }
        result.logSumExp[row] = sum == 0 ? Double.NEGATIVE_INFINITY : max + Math.log(sum);
        for (int j = 0; j < keys; j++) {
            result.weights[row * keys + j] = score[j] == Double.NEGATIVE_INFINITY ? 0 : Math.exp(score[j] - max) / sum;
        }
        double[] factor = new double[keys];
        Arrays.setAll(factor, j -> dropout.factor(row / queries, row % queries, j));
        for (int d = 0; d < valueDim; d++) {
            element((b * kvHeads + kvHead(h)) * keys, row, d, score, kappa, factor, result);
        }
        return largest;
    }

    private double score(int b, int h, int i, int j, double[] kappa) {
        int q = ((b * heads + h) * queries + i) * headDim;
        int k = ((b * kvHeads + kvHead(h)) * keys + j) * headDim;
        double dot = 0;
        double absolute = 0;
        double partials = 0;
        for (int d = 0; d < headDim; d++) {
            double product = query[q + d] * key[k + d];
            dot += product;
            absolute += Math.abs(product);
            partials += Math.abs(dot);
        }
        double scaled = dot * scale;
        double score = rule.apply(b, h, i, j, scaled);
        // a bias is added to the rounded score: its size conditions the sum like one more product
        double bias = Double.isFinite(score - scaled) ? Math.abs(score - scaled) : 0;
        kappa[j] = Math.abs(scale) * absolute + bias;
        lost = U * (Math.abs(scale) * partials + kappa[j]);
        if (score != Double.NEGATIVE_INFINITY) {
            scoreError = Math.max(scoreError, lost);
        }
        return score;
    }

    /** Computes one output element and its error bound; {@code v} is the index of the first of the head's values. */
    private void element(int v, int row, int d, double[] score, double[] kappa, double[] factor, Result result) {
        double output = 0;
        for (int j = 0; j < keys; j++) {
            if (score[j] != Double.NEGATIVE_INFINITY) {
                output += result.weights[row * keys + j] * factor[j] * value[(v + j) * valueDim + d];
            }
        }
        double bound = 0;
        double visible = 0;
        for (int j = 0; j < keys; j++) {
            if (score[j] != Double.NEGATIVE_INFINITY) {
                double p = result.weights[row * keys + j];
                double counted = factor[j] * value[(v + j) * valueDim + d];
                double size = Math.abs(counted);
                double apart = Math.abs(counted - output);
                bound += U * p * ((1 + kappa[j]) * apart + size);
                visible += size;
            }
        }
        result.output[row * valueDim + d] = output;
        result.errorScale[row * valueDim + d] = bound + Tolerance.underflow(keys, visible);
    }

    private int kvHead(int head) {
        return head / (heads / kvHeads);
    }
}

package io.multihead.support;

import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.position.Rope;
import io.multihead.reference.ReferenceNorm;
import io.multihead.reference.ReferenceRope;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The definition of multi-head attention in plain loops in {@code double}. The extra keys are appended, and masks
 * return the number to add to the score of each key. Every number has a bound of its error in f32 arithmetic, in units
 * of 2<sup>-24</sup>, which is propagated to first order.
 */
public final class NaiveLayer {
    private final MultiHeadConfig config;
    private final Map<String, Tensor> parameters;
    private final double @Nullable [] sinks;

    public NaiveLayer(MultiHeadConfig config, Map<String, Tensor> parameters) {
        this(config, parameters, null);
    }

    /** Creates a layer with a soft-cap from the configuration and with the given sinks, one per query head. */
    public NaiveLayer(MultiHeadConfig config, Map<String, Tensor> parameters, double @Nullable [] sinks) {
        this.config = config;
        this.parameters = parameters;
        this.sinks = sinks;
    }

    /** The sum of masks and biases for the score of a projected key. Minus infinity hides the key. */
    public interface ScoreBias {
        double at(int batch, int head, int query, int key);
    }

    /** A matrix and the error bound of every element. */
    public record Numbers(double[][] value, double[][] error) {
        Numbers(int rows, int columns) {
            this(new double[rows][columns], new double[rows][columns]);
        }
    }

    /** The output of each batch, and the weights of each batch and head. */
    public record Result(List<Numbers> output, List<List<Numbers>> weights) {
        /** Returns the weights of one batch, averaged over heads. */
        public Numbers averageWeights(int batch) {
            List<Numbers> heads = weights.get(batch);
            double[][] first = heads.get(0).value();
            Numbers mean = new Numbers(first.length, first.length == 0 ? 0 : first[0].length);
            for (Numbers head : heads) {
                for (int i = 0; i < first.length; i++) {
                    for (int j = 0; j < first[i].length; j++) {
                        mean.value[i][j] += head.value[i][j] / heads.size();
                        mean.error[i][j] += head.error[i][j] / heads.size();
                    }
                }
            }
            return mean;
        }
    }

    /** Computes the result for inputs of {@code [batch][token][feature]}. */
    public Result forward(double[][][] query, double[][][] key, double[][][] value, ScoreBias bias) {
        Result result = new Result(new ArrayList<>(), new ArrayList<>());
        int heads = config.queryHeads();
        int queryRows = Math.toIntExact(heads * config.headDim());
        int keyRows = Math.toIntExact(config.keyValueHeads() * config.headDim());
        int valueRows = Math.toIntExact(config.keyValueHeads() * config.valueDim());
        for (int b = 0; b < query.length; b++) {
            Numbers q = staged(project(query[b], "q_proj_weight", 0, queryRows), "q_norm.weight");
            Numbers projected = project(key[b], "k_proj_weight", queryRows, keyRows);
            Numbers k = extend(staged(projected, "k_norm.weight"), "bias_k", keyRows);
            Numbers v = extend(project(value[b], "v_proj_weight", queryRows + keyRows, valueRows), "bias_v", valueRows);
            Numbers concatenated = new Numbers(query[b].length, Math.toIntExact(heads * config.valueDim()));
            List<Numbers> weights = new ArrayList<>();
            for (int h = 0; h < heads; h++) {
                Numbers scores = scores(q, k, h);
                addBias(scores, key[b].length, b, h, bias);
                weights.add(softmax(scores, sinks == null ? Double.NEGATIVE_INFINITY : sinks[h]));
                average(weights.get(h), v, h, concatenated);
            }
            result.weights.add(weights);
            int outputs = (int) config.outputShape().elements();
            Tensor outputBias = parameters.get("out_proj.bias");
            result.output.add(linear(concatenated, parameters.get("out_proj.weight"), outputBias, 0, outputs));
        }
        return result;
    }

    private Numbers scores(Numbers q, Numbers k, int head) {
        int headDim = (int) config.headDim();
        int from = head * headDim;
        int keyFrom = sharedBy(head) * headDim;
        double scale = config.options().scaleFor(headDim);
        double cap = config.options().scores().softCap();
        Numbers scores = new Numbers(q.value.length, k.value.length);
        for (int i = 0; i < q.value.length; i++) {
            for (int j = 0; j < k.value.length; j++) {
                for (int d = 0; d < headDim; d++) {
                    double left = q.value[i][from + d];
                    double right = k.value[j][keyFrom + d];
                    scores.value[i][j] += scale * left * right;
                    scores.error[i][j] += scale
                            * (Math.abs(left * right)
                                    + q.error[i][from + d] * Math.abs(right)
                                    + Math.abs(left) * k.error[j][keyFrom + d]);
                }
                if (cap != 0) {
                    scores.value[i][j] = cap * Math.tanh(scores.value[i][j] / cap);
                }
            }
        }
        return scores;
    }

    private static void addBias(Numbers scores, int keys, int b, int h, ScoreBias bias) {
        for (int i = 0; i < scores.value.length; i++) {
            for (int j = 0; j < keys; j++) {
                double added = bias.at(b, h, i, j);
                scores.value[i][j] += added;
                scores.error[i][j] += Double.isFinite(added) ? Math.abs(added) : 0;
            }
        }
    }

    /** Computes the softmax in place. The weights of a query that sees no key are 0. */
    private static Numbers softmax(Numbers scores, double sink) {
        for (int i = 0; i < scores.value.length; i++) {
            double[] row = scores.value[i];
            double max = Math.max(sink, Arrays.stream(row).max().orElse(Double.NEGATIVE_INFINITY));
            double sum = max == Double.NEGATIVE_INFINITY ? 0 : Math.exp(sink - max);
            for (int j = 0; j < row.length; j++) {
                row[j] = max == Double.NEGATIVE_INFINITY ? 0 : Math.exp(row[j] - max);
                sum += row[j];
            }
            double shift = 1;
            for (int j = 0; j < row.length; j++) {
                row[j] = sum == 0 ? 0 : row[j] / sum;
                shift += row[j] * scores.error[i][j];
            }
            for (int j = 0; j < row.length; j++) {
                scores.error[i][j] = row[j] * (scores.error[i][j] + shift);
            }
        }
        return scores;
    }

    private void average(Numbers weights, Numbers v, int head, Numbers concatenated) {
        int valueDim = (int) config.valueDim();
        int from = sharedBy(head) * valueDim;
        for (int i = 0; i < weights.value.length; i++) {
            for (int j = 0; j < v.value.length; j++) {
                double p = weights.value[i][j];
                for (int d = 0; d < valueDim && p > 0; d++) {
                    double size = Math.abs(v.value[j][from + d]);
                    concatenated.value[i][head * valueDim + d] += p * v.value[j][from + d];
                    concatenated.error[i][head * valueDim + d] +=
                            (weights.error[i][j] + p) * size + p * v.error[j][from + d];
                }
            }
        }
    }

    /** Returns the key/value head of a query head. */
    private int sharedBy(int head) {
        return head / (config.queryHeads() / config.keyValueHeads());
    }

    private Numbers project(double[][] x, String name, int firstRow, int rows) {
        Tensor fused = parameters.get("in_proj_weight");
        Tensor weight = fused == null ? parameters.get(name) : fused.slice(0, firstRow, firstRow + rows);
        Numbers exact = new Numbers(x, new double[x.length][x.length == 0 ? 0 : x[0].length]);
        return linear(exact, weight, parameters.get("in_proj_bias"), firstRow, rows);
    }

    private static Numbers linear(Numbers x, Tensor weight, @Nullable Tensor bias, int biasFrom, int outputs) {
        Numbers result = new Numbers(x.value.length, outputs);
        for (int t = 0; t < x.value.length; t++) {
            for (int o = 0; o < outputs; o++) {
                double start = bias == null ? 0 : bias.get(biasFrom + o);
                result.value[t][o] = start;
                result.error[t][o] = Math.abs(start);
                for (int i = 0; i < x.value[t].length; i++) {
                    double factor = weight.get(o, i);
                    result.value[t][o] += x.value[t][i] * factor;
                    result.error[t][o] += (Math.abs(x.value[t][i]) + x.error[t][i]) * Math.abs(factor);
                }
            }
        }
        return result;
    }

    /**
     * Normalizes and rotates the heads of each token. An error of e in each of d elements changes a root mean square r by at most e, so it
     * changes x w / r by at most {@code (1 + sqrt(d)) e |w| / r}; a rotation adds the errors of two elements. Each of
     * these steps adds about ten roundings.
     */
    private Numbers staged(Numbers tokens, String normName) {
        int headDim = (int) config.headDim();
        for (int t = 0; t < tokens.value.length; t++) {
            for (int at = 0; at < tokens.value[t].length; at += headDim) {
                double[] row = Arrays.copyOfRange(tokens.value[t], at, at + headDim);
                double error = largest(Arrays.copyOfRange(tokens.error[t], at, at + headDim));
                if (config.headNorm().isPresent()) {
                    double epsilon = config.headNorm().getAsDouble();
                    double[] weight = io.multihead.support.Numbers.of(parameters.get(normName));
                    double root = Math.sqrt(Arrays.stream(row).map(x -> x * x).sum() / headDim + epsilon);
                    error *= (1 + Math.sqrt(headDim)) * largest(weight) / root;
                    row = ReferenceNorm.forward(row, weight, new double[headDim], epsilon, false);
                    error += 10 * largest(row);
                }
                Rope rope = config.rope();
                if (rope != null) {
                    boolean interleaved = rope.config().pairing() == Rope.Pairing.INTERLEAVED;
                    row = ReferenceRope.of(rope.rotaryDims(), rope.config().theta(), interleaved)
                            .apply(Tensor.of(row, 1, 1, 1, headDim), new long[] {t}, false)
                            .output();
                    error = 2 * error + 10 * largest(row);
                }
                System.arraycopy(row, 0, tokens.value[t], at, headDim);
                if (config.headNorm().isPresent() || rope != null) {
                    Arrays.fill(tokens.error[t], at, at + headDim, error);
                }
            }
        }
        return tokens;
    }

    private static double largest(double[] numbers) {
        return Arrays.stream(numbers).map(Math::abs).max().orElse(0);
    }

    private Numbers extend(Numbers tokens, String biasName, int features) {
        Tensor bias = parameters.get(biasName);
        int projected = tokens.value.length;
        Numbers all = new Numbers(projected + (bias == null ? 0 : 1) + (config.zeroKey() ? 1 : 0), features);
        System.arraycopy(tokens.value, 0, all.value, 0, projected);
        System.arraycopy(tokens.error, 0, all.error, 0, projected);
        for (int d = 0; d < features && bias != null; d++) {
            all.value[projected][d] = bias.get(0, 0, d);
        }
        return all;
    }
}

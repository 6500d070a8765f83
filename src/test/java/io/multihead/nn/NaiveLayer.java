package io.multihead.nn;

import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Multi-head attention as its definition reads, in plain loops and {@code double}; the extra keys are appended, and masks
 * say for every key what is added to its score.
 */
final class NaiveLayer {
    private final Config config;
    private final Map<String, Tensor> parameters;

    NaiveLayer(Config config, Map<String, Tensor> parameters) {
        this.config = config;
        this.parameters = parameters;
    }

    /** What masks and biases add to one score; minus infinity hides the key. Asked for projected keys only. */
    interface ScoreBias {
        double at(int batch, int head, int query, int key);
    }

    /** Output {@code [batch][query][feature]} and weights {@code [batch][head][query][key]}. */
    @SuppressWarnings("ArrayRecordComponent")
    record Result(double[][][] output, double[][][][] weights) {}

    /** Inputs are {@code [batch][token][feature]}. */
    Result forward(double[][][] query, double[][][] key, double[][][] value, ScoreBias bias) {
        double[][][] output = new double[query.length][][];
        double[][][][] weights = new double[query.length][][][];
        int heads = config.heads().queryHeads();
        for (int b = 0; b < query.length; b++) {
            double[][] q = project(
                    query[b], "q_proj_weight", 0, rows(heads, config.heads().headDim()));
            double[][] k = extend(
                    project(key[b], "k_proj_weight", queryRows(), keyRows()), parameters.get("bias_k"), keyRows());
            double[][] v = extend(
                    project(value[b], "v_proj_weight", queryRows() + keyRows(), valueRows()),
                    parameters.get("bias_v"),
                    valueRows());
            double[][] concatenated =
                    new double[q.length][rows(heads, config.heads().valueDim())];
            weights[b] = new double[heads][][];
            for (int h = 0; h < heads; h++) {
                weights[b][h] = attend(q, k, v, b, h, key[b].length, bias, concatenated);
            }
            output[b] =
                    linear(concatenated, parameters.get("out_proj.weight"), parameters.get("out_proj.bias"), 0, (int)
                            config.widths().outputShape().elements());
        }
        return new Result(output, weights);
    }

    private double[][] attend(
            double[][] q,
            double[][] k,
            double[][] v,
            int b,
            int h,
            int masked,
            ScoreBias bias,
            double[][] concatenated) {
        int headDim = (int) config.heads().headDim();
        int valueDim = (int) config.heads().valueDim();
        int shared = h / (config.heads().queryHeads() / config.heads().kvHeads());
        double scale = config.options().scaleFor(headDim);
        double[][] weights = new double[q.length][k.length];
        for (int i = 0; i < q.length; i++) {
            double max = Double.NEGATIVE_INFINITY;
            for (int j = 0; j < k.length; j++) {
                double dot = 0;
                for (int d = 0; d < headDim; d++) {
                    dot += q[i][h * headDim + d] * k[j][shared * headDim + d];
                }
                weights[i][j] = dot * scale + (j < masked ? bias.at(b, h, i, j) : 0);
                max = Math.max(max, weights[i][j]);
            }
            double sum = 0;
            for (int j = 0; j < k.length; j++) {
                weights[i][j] = max == Double.NEGATIVE_INFINITY ? 0 : Math.exp(weights[i][j] - max);
                sum += weights[i][j];
            }
            for (int j = 0; j < k.length; j++) {
                weights[i][j] = sum == 0 ? 0 : weights[i][j] / sum;
                for (int d = 0; d < valueDim && weights[i][j] > 0; d++) {
                    concatenated[i][h * valueDim + d] += weights[i][j] * v[j][shared * valueDim + d];
                }
            }
        }
        return weights;
    }

    private double[][] project(double[][] x, String name, int firstRow, int rows) {
        Tensor fused = parameters.get("in_proj_weight");
        Tensor weight = fused == null ? parameters.get(name) : fused.slice(0, firstRow, firstRow + rows);
        return linear(x, weight, parameters.get("in_proj_bias"), firstRow, rows);
    }

    private static double[][] linear(double[][] x, Tensor weight, @Nullable Tensor bias, int biasFrom, int outputs) {
        double[][] result = new double[x.length][outputs];
        for (int t = 0; t < x.length; t++) {
            for (int o = 0; o < outputs; o++) {
                double sum = bias == null ? 0 : bias.get(biasFrom + o);
                for (int i = 0; i < x[t].length; i++) {
                    sum += x[t][i] * weight.get(o, i);
                }
                result[t][o] = sum;
            }
        }
        return result;
    }

    private double[][] extend(double[][] tokens, @Nullable Tensor bias, int features) {
        int count = tokens.length + (bias == null ? 0 : 1) + (config.extras().zeroKey() ? 1 : 0);
        double[][] all = new double[count][features];
        System.arraycopy(tokens, 0, all, 0, tokens.length);
        for (int d = 0; d < features && bias != null; d++) {
            all[tokens.length][d] = bias.get(0, 0, d);
        }
        return all;
    }

    private int queryRows() {
        return rows(config.heads().queryHeads(), config.heads().headDim());
    }

    private int keyRows() {
        return rows(config.heads().kvHeads(), config.heads().headDim());
    }

    private int valueRows() {
        return rows(config.heads().kvHeads(), config.heads().valueDim());
    }

    private static int rows(int heads, long dim) {
        return Math.toIntExact(heads * dim);
    }
}

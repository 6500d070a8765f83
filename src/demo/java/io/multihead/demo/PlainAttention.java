package io.multihead.demo;

import io.multihead.tensor.Tensor;
import java.util.Map;

/** Self-attention with one head, and its gradient, as textbook loops in double. */
final class PlainAttention {
    private final double[][] x;
    private final double[][] queryWeight;
    private final double[][] keyWeight;
    private final double[][] valueWeight;
    private final double[][] outputWeight;
    private final double[][] query;
    private final double[][] key;
    private final double[][] value;
    private final double[][] weights;
    private final double[][] output;

    PlainAttention(double[][] x, Map<String, Tensor> parameters) {
        this.x = x;
        int d = x[0].length;
        Tensor in = parameters.get("in_proj_weight");
        Tensor bias = parameters.get("in_proj_bias");
        queryWeight = Values.matrix(in.slice(0, 0, d));
        keyWeight = Values.matrix(in.slice(0, d, 2L * d));
        valueWeight = Values.matrix(in.slice(0, 2L * d, 3L * d));
        outputWeight = Values.matrix(parameters.get("out_proj.weight"));
        query = project(x, queryWeight, bias.slice(0, 0, d));
        key = project(x, keyWeight, bias.slice(0, d, 2L * d));
        value = project(x, valueWeight, bias.slice(0, 2L * d, 3L * d));
        weights = softmax(product(query, transposed(key)), 1 / Math.sqrt(d));
        output = project(product(weights, value), outputWeight, parameters.get("out_proj.bias"));
    }

    double[][] input() {
        return x;
    }

    double[][] output() {
        return output;
    }

    /** Returns dL/dX for dL/dY, by the chain rule step by step. */
    double[][] inputGradient(double[][] upstream) {
        double[][] attended = product(upstream, outputWeight);
        double[][] valueGradient = product(transposed(weights), attended);
        double[][] scores = product(attended, transposed(value));
        double scale = 1 / Math.sqrt(x[0].length);
        for (int i = 0; i < scores.length; i++) {
            double mean = 0;
            for (int j = 0; j < scores.length; j++) {
                mean += weights[i][j] * scores[i][j];
            }
            for (int j = 0; j < scores.length; j++) {
                scores[i][j] = scale * weights[i][j] * (scores[i][j] - mean);
            }
        }
        double[][] result = product(product(scores, key), queryWeight);
        double[][] ofKey = product(product(transposed(scores), query), keyWeight);
        double[][] ofValue = product(valueGradient, valueWeight);
        for (int i = 0; i < result.length; i++) {
            for (int c = 0; c < result[i].length; c++) {
                result[i][c] += ofKey[i][c] + ofValue[i][c];
            }
        }
        return result;
    }

    private static double[][] softmax(double[][] scores, double scale) {
        double[][] result = new double[scores.length][scores.length];
        for (int i = 0; i < scores.length; i++) {
            double sum = 0;
            for (int j = 0; j < scores.length; j++) {
                result[i][j] = Math.exp(scale * scores[i][j]);
                sum += result[i][j];
            }
            for (int j = 0; j < scores.length; j++) {
                result[i][j] /= sum;
            }
        }
        return result;
    }

    /** Returns {@code x W^T + b} for weights {@code [out, in]}. */
    private static double[][] project(double[][] x, double[][] weight, Tensor bias) {
        double[][] result = product(x, transposed(weight));
        for (double[] row : result) {
            for (int o = 0; o < row.length; o++) {
                row[o] += bias.get(o);
            }
        }
        return result;
    }

    private static double[][] product(double[][] a, double[][] b) {
        double[][] result = new double[a.length][b[0].length];
        for (int i = 0; i < a.length; i++) {
            for (int k = 0; k < b.length; k++) {
                for (int j = 0; j < b[0].length; j++) {
                    result[i][j] += a[i][k] * b[k][j];
                }
            }
        }
        return result;
    }

    private static double[][] transposed(double[][] a) {
        double[][] result = new double[a[0].length][a.length];
        for (int i = 0; i < a.length; i++) {
            for (int j = 0; j < a[0].length; j++) {
                result[j][i] = a[i][j];
            }
        }
        return result;
    }
}

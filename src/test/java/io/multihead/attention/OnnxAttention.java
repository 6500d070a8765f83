package io.multihead.attention;

import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * ONNX's operator Attention in double, written from the formulas of its specification, without code of this library. The operator set is
 * 25, whose inputs and attributes include those in opsets 23 and 24. The corrections of 2026 are applied: the soft-cap precedes the mask,
 * modes 1 and 2 have that order, and causality starts at the position of the first query.
 */
final class OnnxAttention {
    static final double HIDDEN = Double.NEGATIVE_INFINITY;

    /** The attributes. If omitted, {@code scale} is NaN, and {@code left} and {@code right} are -1. */
    record Attributes(boolean causal, double scale, double softCap, int mode, int left, int right) {}

    /** A mask of 2 to 4 axes. A boolean is 1 if the key takes part, else 0. */
    record AttentionMask(double[] values, int[] dims, boolean isBoolean) {
        /** Returns the number to add to a score. If the last axis is shorter than the keys, it is padded with minus infinity. */
        double bias(int... index) {
            int last = dims.length - 1;
            if (index[3] >= dims[last]) {
                return HIDDEN;
            }
            int at = 0;
            for (int axis = 0; axis <= last; axis++) {
                int i = index[4 - dims.length + axis];
                at = at * dims[axis] + (dims[axis] == 1 && axis < last ? 0 : i);
            }
            return isBoolean ? values[at] != 0 ? 0 : HIDDEN : values[at];
        }
    }

    /** The inputs with a head axis, {@code [batch][head][token][element]}. Omitted optional inputs are null. */
    record Inputs(
            double[][][][] query,
            double[][][][] key,
            double[][][][] value,
            @Nullable AttentionMask mask,
            double[][][] @Nullable [] pastKey,
            double[][][] @Nullable [] pastValue,
            int @Nullable [] lengths) {}

    record Outputs(
            double[][][][] output, double[][][][] presentKey, double[][][][] presentValue, double[][][][] scores) {}

    private final Attributes attributes;
    private final Inputs inputs;
    private final double[][][][] key;
    private final double[][][][] value;

    private OnnxAttention(Attributes attributes, Inputs inputs) {
        this.attributes = attributes;
        this.inputs = inputs;
        key = concat(inputs.pastKey, inputs.key);
        value = concat(inputs.pastValue, inputs.value);
    }

    static Outputs run(Attributes attributes, Inputs inputs) {
        OnnxAttention operator = new OnnxAttention(attributes, inputs);
        int batch = inputs.query.length;
        int heads = inputs.query[0].length;
        int queries = inputs.query[0][0].length;
        double[][][][] output = new double[batch][heads][queries][];
        double[][][][] scores = new double[batch][heads][queries][];
        for (int b = 0; b < batch; b++) {
            for (int h = 0; h < heads; h++) {
                for (int i = 0; i < queries; i++) {
                    operator.query(b, h, i, output, scores);
                }
            }
        }
        return new Outputs(output, operator.key, operator.value, scores);
    }

    private void query(int b, int h, int i, double[][][][] output, double[][][][] scores) {
        int group = inputs.query[b].length / key[b].length;
        double[][] keys = key[b][h / group];
        double[][] values = value[b][h / group];
        double[] query = inputs.query[b][h][i];
        double scale = Double.isNaN(attributes.scale) ? 1 / Math.sqrt(query.length) : attributes.scale;
        double cap = attributes.softCap;
        double[][] stages = new double[4][keys.length];
        double max = HIDDEN;
        for (int j = 0; j < keys.length; j++) {
            double dot = 0;
            for (int d = 0; d < query.length; d++) {
                dot += query[d] * keys[j][d];
            }
            stages[0][j] = dot * scale;
            stages[1][j] = cap > 0 ? cap * Math.tanh(stages[0][j] / cap) : stages[0][j];
            stages[2][j] = stages[1][j] + bias(b, h, i, j);
            max = Math.max(max, stages[2][j]);
        }
        double sum = 0;
        for (int j = 0; j < keys.length; j++) {
            sum += max == HIDDEN ? 0 : Math.exp(stages[2][j] - max);
        }
        output[b][h][i] = new double[values.length == 0 ? 0 : values[0].length];
        for (int j = 0; j < keys.length; j++) {
            // the formula is 0 / 0 for a query without keys; kernels write 0
            stages[3][j] = sum == 0 ? 0 : Math.exp(stages[2][j] - max) / sum;
            for (int d = 0; d < values[j].length; d++) {
                output[b][h][i][d] += stages[3][j] * values[j][d];
            }
        }
        scores[b][h][i] = stages[attributes.mode];
    }

    private double bias(int b, int h, int i, int j) {
        double bias = inputs.mask == null ? 0 : inputs.mask.bias(b, h, i, j);
        int position = i + offset(b);
        boolean hidden = attributes.causal && j > position
                || attributes.left >= 0 && j < position - attributes.left
                || attributes.right >= 0 && j > position + attributes.right
                || inputs.lengths != null && j >= inputs.lengths[b];
        return hidden ? HIDDEN : bias;
    }

    /**
     * Returns the position of the first query. With a past, it follows the past. With lengths, the last query is at the last key that is
     * not padding.
     */
    private int offset(int b) {
        if (inputs.pastKey != null) {
            return inputs.pastKey[b][0].length;
        }
        return inputs.lengths == null ? 0 : inputs.lengths[b] - inputs.query[b][0].length;
    }

    private static double[][][][] concat(double[][][] @Nullable [] past, double[][][][] added) {
        double[][][][] all = new double[added.length][added[0].length][][];
        for (int b = 0; b < added.length; b++) {
            for (int h = 0; h < added[b].length; h++) {
                int before = past == null ? 0 : past[b][h].length;
                double[][] old = past == null ? new double[0][] : past[b][h];
                double[][] rows = added[b][h];
                all[b][h] = IntStream.range(0, before + rows.length)
                        .mapToObj(t -> t < before ? old[t] : rows[t - before])
                        .toArray(double[][]::new);
            }
        }
        return all;
    }

    /** Splits {@code [batch][token][head * element]} into {@code [batch][head][token][element]}. */
    static double[][][][] split(double[][][] packed, int heads) {
        int size = packed[0][0].length / heads;
        double[][][][] result = new double[packed.length][heads][packed[0].length][size];
        for (int b = 0; b < packed.length; b++) {
            for (int t = 0; t < packed[b].length; t++) {
                for (int c = 0; c < heads * size; c++) {
                    result[b][c / size][t][c % size] = packed[b][t][c];
                }
            }
        }
        return result;
    }
}

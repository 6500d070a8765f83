package io.multihead.encoder;

import io.multihead.model.Pooling;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceLinear;
import io.multihead.reference.ReferenceNorm;
import io.multihead.reference.ReferenceSoftmax;
import io.multihead.support.Numbers;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.Map;

/** BERT in plain loops in double: the states of one sequence, and their pooling. */
final class ReferenceEncoder {
    private final Map<String, Tensor> weights;
    private final int dim;
    private final int layers;
    private final int heads;
    private final double epsilon;

    /** States of the last layer by token, and attention weights by layer, head, query and key. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Run(double[][] states, double[][][][] attention) {}

    ReferenceEncoder(Map<String, Tensor> weights) {
        this(weights, TinyModel.LAYERS, TinyModel.HEADS, TinyModel.EPSILON);
    }

    ReferenceEncoder(Map<String, Tensor> weights, int layers, int heads, double epsilon) {
        this.weights = weights;
        this.dim = (int) weights.get("embeddings.LayerNorm.weight").dim(0);
        this.layers = layers;
        this.heads = heads;
        this.epsilon = epsilon;
    }

    double[] embed(int[] ids, Pooling pooling, boolean normalized) {
        double[] result = pool(states(ids, new int[ids.length]), pooling, 0);
        double squares = 0;
        for (double x : result) {
            squares += x * x;
        }
        for (int i = 0; i < result.length; i++) {
            result[i] /= normalized ? Math.sqrt(squares) : 1;
        }
        return result;
    }

    /** Pools the states of tokens. The first {@code ignored} tokens only count in the positions of others. */
    static double[] pool(double[][] states, Pooling pooling, int ignored) {
        double[] result = new double[states[0].length];
        double weights = 0;
        for (int t = ignored; t < states.length; t++) {
            weights += pooling == Pooling.WEIGHTED_MEAN ? t + 1 : 1;
        }
        for (int i = 0; i < result.length; i++) {
            double sum = 0;
            double weighted = 0;
            double most = Double.NEGATIVE_INFINITY;
            for (int t = ignored; t < states.length; t++) {
                sum += states[t][i];
                weighted += (t + 1) * states[t][i];
                most = Math.max(most, states[t][i]);
            }
            result[i] = switch (pooling) {
                case MEAN -> sum / weights;
                case MEAN_SQRT_LEN -> sum / Math.sqrt(weights);
                case WEIGHTED_MEAN -> weighted / weights;
                case MAX -> most;
                case CLS -> states[0][i];
                case LAST -> states[states.length - 1][i];
            };
        }
        return result;
    }

    double[][][][] attention(int[] ids) {
        return run(ids, new int[ids.length], ids.length).attention;
    }

    /** Returns the states of the last layer by token. */
    double[][] states(int[] ids, int[] types) {
        return run(ids, types, ids.length).states;
    }

    /** Returns the states of the last layer if all tokens see only the first {@code keys} tokens. */
    double[][] states(int[] ids, int keys) {
        return run(ids, new int[ids.length], keys).states;
    }

    private Run run(int[] ids, int[] tokenTypes, int keys) {
        double[][][][] attention = new double[layers][heads][ids.length][];
        Tensor words = weights.get("embeddings.word_embeddings.weight");
        Tensor positions = weights.get("embeddings.position_embeddings.weight");
        Tensor types = weights.get("embeddings.token_type_embeddings.weight");
        double[][] states = new double[ids.length][dim];
        for (int t = 0; t < ids.length; t++) {
            for (int i = 0; i < dim; i++) {
                states[t][i] = words.get(ids[t], i) + types.get(tokenTypes[t], i) + positions.get(t, i);
            }
            states[t] = norm("embeddings.LayerNorm", states[t]);
        }
        for (int layer = 0; layer < layers; layer++) {
            states = block("encoder.layer." + layer + ".", states, keys, attention[layer]);
        }
        return new Run(states, attention);
    }

    private double[][] block(String layer, double[][] x, int seen, double[][][] to) {
        double[][] context = attention(layer + "attention.self.", x, seen, to);
        double[][] attended = linear(layer + "attention.output.dense", context);
        double[][] middle = new double[x.length][];
        for (int t = 0; t < x.length; t++) {
            middle[t] = norm(layer + "attention.output.LayerNorm", Numbers.sum(attended[t], x[t]));
        }
        double[][] inner = linear(layer + "intermediate.dense", middle);
        for (double[] row : inner) {
            Arrays.setAll(row, i -> ReferenceActivation.gelu(row[i]));
        }
        double[][] y = linear(layer + "output.dense", inner);
        for (int t = 0; t < x.length; t++) {
            y[t] = norm(layer + "output.LayerNorm", Numbers.sum(y[t], middle[t]));
        }
        return y;
    }

    private double[][] attention(String layer, double[][] x, int seen, double[][][] to) {
        int headDim = dim / heads;
        double[][] context = new double[x.length][dim];
        double[][] queries = linear(layer + "query", x);
        double[][] keys = linear(layer + "key", x);
        double[][] values = linear(layer + "value", x);
        for (int head = 0; head < heads; head++) {
            for (int t = 0; t < x.length; t++) {
                double[] scores = new double[seen];
                for (int key = 0; key < seen; key++) {
                    for (int i = head * headDim; i < (head + 1) * headDim; i++) {
                        scores[key] += queries[t][i] * keys[key][i] / Math.sqrt(headDim);
                    }
                }
                double[] probabilities = ReferenceSoftmax.row(scores);
                to[head][t] = probabilities;
                for (int key = 0; key < seen; key++) {
                    for (int i = head * headDim; i < (head + 1) * headDim; i++) {
                        context[t][i] += probabilities[key] * values[key][i];
                    }
                }
            }
        }
        return context;
    }

    private double[][] linear(String name, double[][] x) {
        double[] weight = values(name + ".weight");
        double[] bias = values(name + ".bias");
        return Arrays.stream(x)
                .map(row -> ReferenceLinear.forward(row, weight, bias, bias.length, row.length))
                .toArray(double[][]::new);
    }

    private double[] norm(String name, double[] x) {
        return ReferenceNorm.forward(x, values(name + ".weight"), values(name + ".bias"), epsilon, true);
    }

    private double[] values(String name) {
        return Numbers.of(weights.get(name));
    }
}

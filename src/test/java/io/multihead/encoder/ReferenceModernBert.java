package io.multihead.encoder;

import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceLinear;
import io.multihead.reference.ReferenceNorm;
import io.multihead.reference.ReferenceSoftmax;
import io.multihead.support.Numbers;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.Map;

/** {@link TinyModernBert} in plain loops in double. */
final class ReferenceModernBert {
    private static final int HEAD_DIM = TinyModernBert.DIM / TinyModernBert.HEADS;
    private static final double EPSILON = 1e-5;

    private final Map<String, Tensor> weights;

    ReferenceModernBert(Map<String, Tensor> weights) {
        this.weights = weights;
    }

    /** Returns the final states of tokens. */
    double[][] states(int... ids) {
        double[] words = values("embeddings.tok_embeddings.weight");
        int dim = TinyModernBert.DIM;
        double[][] x = Arrays.stream(ids)
                .mapToObj(id -> norm("embeddings.norm", Arrays.copyOfRange(words, id * dim, (id + 1) * dim)))
                .toArray(double[][]::new);
        for (int layer = 0; layer < TinyModernBert.LAYERS; layer++) {
            String name = "layers." + layer + ".";
            double[][] read = layer == 0
                    ? x
                    : Arrays.stream(x).map(row -> norm(name + "attn_norm", row)).toArray(double[][]::new);
            double[][] context = attention(name, read, layer % 2 == 1);
            for (int t = 0; t < x.length; t++) {
                double[] middle = Numbers.sum(x[t], linear(name + "attn.Wo", context[t]));
                double[] both = linear(name + "mlp.Wi", norm(name + "mlp_norm", middle));
                double[] hidden = new double[TinyModernBert.INNER];
                for (int i = 0; i < hidden.length; i++) {
                    hidden[i] = ReferenceActivation.gelu(both[i]) * both[hidden.length + i];
                }
                x[t] = Numbers.sum(middle, linear(name + "mlp.Wo", hidden));
            }
        }
        return Arrays.stream(x).map(row -> norm("final_norm", row)).toArray(double[][]::new);
    }

    private double[][] attention(String layer, double[][] x, boolean local) {
        double[][] all =
                Arrays.stream(x).map(row -> linear(layer + "attn.Wqkv", row)).toArray(double[][]::new);
        double[][] context = new double[x.length][TinyModernBert.DIM];
        for (int head = 0; head < TinyModernBert.HEADS; head++) {
            for (int t = 0; t < x.length; t++) {
                int from = local ? Math.max(0, t - TinyModernBert.REACH) : 0;
                int end = local ? Math.min(x.length, t + TinyModernBert.REACH + 1) : x.length;
                double[] scores = new double[end - from];
                for (int key = from; key < end; key++) {
                    double[] q = rotated(all[t], head * HEAD_DIM, t, local ? 30 : 2000);
                    double[] k = rotated(all[key], TinyModernBert.DIM + head * HEAD_DIM, key, local ? 30 : 2000);
                    for (int i = 0; i < HEAD_DIM; i++) {
                        scores[key - from] += q[i] * k[i] / Math.sqrt(HEAD_DIM);
                    }
                }
                double[] shares = ReferenceSoftmax.row(scores);
                for (int key = from; key < end; key++) {
                    for (int i = head * HEAD_DIM; i < (head + 1) * HEAD_DIM; i++) {
                        context[t][i] += shares[key - from] * all[key][2 * TinyModernBert.DIM + i];
                    }
                }
            }
        }
        return context;
    }

    /** Returns a head of a row. Element i and the element half a head later are rotated by the angle of the position. */
    private static double[] rotated(double[] row, int at, int position, double theta) {
        int half = HEAD_DIM / 2;
        double[] result = new double[HEAD_DIM];
        for (int i = 0; i < half; i++) {
            double angle = position * Math.pow(theta, -2.0 * i / HEAD_DIM);
            result[i] = row[at + i] * Math.cos(angle) - row[at + half + i] * Math.sin(angle);
            result[half + i] = row[at + half + i] * Math.cos(angle) + row[at + i] * Math.sin(angle);
        }
        return result;
    }

    /** Returns the logit of each label for a sequence. The head pools by the mean or by the first token. */
    double[] logits(boolean ofMean, int... ids) {
        double[][] states = states(ids);
        double[] pooled = states[0].clone();
        for (int t = 1; t < states.length && ofMean; t++) {
            pooled = Numbers.sum(pooled, states[t]);
        }
        for (int i = 0; i < pooled.length && ofMean; i++) {
            pooled[i] /= states.length;
        }
        double[] dense = Arrays.stream(linear("head.dense", pooled))
                .map(ReferenceActivation::gelu)
                .toArray();
        return linear("classifier", norm("head.norm", dense));
    }

    private double[] linear(String name, double[] x) {
        double[] weight = values(name + ".weight");
        double[] bias = weights.containsKey(name + ".bias") ? values(name + ".bias") : null;
        return ReferenceLinear.forward(x, weight, bias, weight.length / x.length, x.length);
    }

    private double[] norm(String name, double[] x) {
        double[] bias = weights.containsKey(name + ".bias") ? values(name + ".bias") : new double[x.length];
        return ReferenceNorm.forward(x, values(name + ".weight"), bias, EPSILON, true);
    }

    private double[] values(String name) {
        return Numbers.of(weights.get(name));
    }
}

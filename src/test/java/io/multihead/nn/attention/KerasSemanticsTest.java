package io.multihead.nn.attention;

import static io.multihead.support.TestTensors.random;
import static io.multihead.support.TestTensors.zeros;

import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The layer uses weights of Keras's {@code MultiHeadAttention}. Keras projects with einsum: the query kernel is
 * {@code [features, heads, key_dim]} with a bias {@code [heads, key_dim]}, and the output kernel is {@code [heads,
 * value_dim, output_shape...]} with a bias {@code [output_shape...]}. Each of the layer's weights is a view of a
 * kernel: the kernel is flattened to two axes, which are then swapped. Only the three input biases must be copied into
 * one tensor.
 */
class KerasSemanticsTest {
    private static final int BATCH = 2;
    private static final int TARGETS = 4;
    private static final int SOURCES = 5;
    private static final int FEATURES = 6;
    private static final int VALUE_FEATURES = 7;
    private static final int HEADS = 3;
    private static final int KEY_DIM = 5;
    private static final int VALUE_DIM = 2;

    private final Random random = new Random(42);
    private final Tensor queryKernel = random(random, FEATURES, HEADS, KEY_DIM);
    private final Tensor keyKernel = random(random, FEATURES, HEADS, KEY_DIM);
    private final Tensor valueKernel = random(random, VALUE_FEATURES, HEADS, VALUE_DIM);
    private final Tensor outputKernel = random(random, HEADS, VALUE_DIM, 2, 4);
    private final Tensor queryBias = random(random, HEADS, KEY_DIM);
    private final Tensor keyBias = random(random, HEADS, KEY_DIM);
    private final Tensor valueBias = random(random, HEADS, VALUE_DIM);
    private final Tensor outputBias = random(random, 2, 4);
    private final Tensor query = random(random, BATCH, TARGETS, FEATURES);
    private final Tensor key = random(random, BATCH, SOURCES, FEATURES);
    private final Tensor value = random(random, BATCH, SOURCES, VALUE_FEATURES);
    /** The mask with Keras's polarity: true keeps a key. */
    private final Tensor attentionMask = TestTensors.flags(random, BATCH, TARGETS, SOURCES);

    private final double[][][][] scores = new double[BATCH][HEADS][TARGETS][SOURCES];

    /** {@code layers.MultiHeadAttention(3, 5, value_dim=2, output_shape=(2, 4))} with Keras's weights. */
    private MultiHeadAttention layer() {
        MultiHeadConfig config = MultiHeadConfig.of(FEATURES, HEADS, KEY_DIM)
                .withValueDim(VALUE_DIM)
                .withInputDims(FEATURES, VALUE_FEATURES)
                .withOutputShape(2, 4);
        Tensor inputBias = zeros(DType.F32, HEADS * (KEY_DIM + KEY_DIM + VALUE_DIM));
        flat(queryBias).copyTo(inputBias.slice(0, 0, HEADS * KEY_DIM));
        flat(keyBias).copyTo(inputBias.slice(0, HEADS * KEY_DIM, 2 * HEADS * KEY_DIM));
        flat(valueBias).copyTo(inputBias.slice(0, 2 * HEADS * KEY_DIM, inputBias.dim(0)));
        return MultiHeadAttention.of(
                config,
                Map.of(
                        "q_proj_weight", queryKernel.reshape(FEATURES, -1).permute(1, 0),
                        "k_proj_weight", keyKernel.reshape(FEATURES, -1).permute(1, 0),
                        "v_proj_weight", valueKernel.reshape(VALUE_FEATURES, -1).permute(1, 0),
                        "in_proj_bias", inputBias,
                        "out_proj.weight",
                                outputKernel.reshape(HEADS * VALUE_DIM, -1).permute(1, 0),
                        "out_proj.bias", flat(outputBias))::get);
    }

    private static Tensor flat(Tensor tensor) {
        return tensor.reshape(-1);
    }

    @Test
    void callWithMaskAndCausalMaskGivesKerassOutputAndScores() {
        Tensor output = zeros(DType.F32, BATCH, TARGETS, 2, 4);
        Tensor weights = zeros(DType.F32, BATCH, HEADS, TARGETS, SOURCES);
        for (int b = 0; b < BATCH; b++) {
            for (int t = 0; t < TARGETS; t++) {
                attentionMask.set(1, b, t, 0); // a row that sees no key is uniform in Keras and zero here
            }
        }
        // mha(query, value, key, attention_mask=m, use_causal_mask=True, return_attention_scores=True)
        Mask keep = Mask.keep(attentionMask.reshape(BATCH, 1, TARGETS, SOURCES));
        layer().forward(
                        Compute.serial(),
                        MultiHeadInputs.of(query, key, value).withMask(keep.and(Mask.CAUSAL_TOP_LEFT)),
                        MultiHeadOutputs.of(output).withHeadWeights(weights));

        double[][][] expected = einsum();
        TestTensors.assertClose(expected, TestTensors.cube(output.reshape(BATCH, TARGETS, 8)), 1e-6);
        for (int b = 0; b < BATCH; b++) {
            TestTensors.assertClose(scores[b], TestTensors.cube(weights.select(0, b)), 1e-6);
        }
    }

    /** Computes Keras's call einsum by einsum, and fills {@link #scores}. */
    private double[][][] einsum() {
        double[][][] output = new double[BATCH][TARGETS][8];
        for (int b = 0; b < BATCH; b++) {
            for (int t = 0; t < TARGETS; t++) {
                for (int o = 0; o < 8; o++) {
                    output[b][t][o] = outputBias.get(o / 4, o % 4);
                }
                for (int h = 0; h < HEADS; h++) {
                    scores[b][h][t] = softmax(b, t, h);
                    for (int s = 0; s < SOURCES; s++) {
                        for (int d = 0; d < VALUE_DIM; d++) {
                            double v = dense(value, valueKernel, valueBias, b, s, h, d);
                            for (int o = 0; o < 8; o++) {
                                output[b][t][o] += scores[b][h][t][s] * v * outputKernel.get(h, d, o / 4, o % 4);
                            }
                        }
                    }
                }
            }
        }
        return output;
    }

    private double[] softmax(int b, int t, int h) {
        double[] weights = new double[SOURCES];
        double sum = 0;
        for (int s = 0; s < SOURCES; s++) {
            double dot = 0;
            for (int d = 0; d < KEY_DIM; d++) {
                dot += dense(query, queryKernel, queryBias, b, t, h, d)
                        / Math.sqrt(KEY_DIM)
                        * dense(key, keyKernel, keyBias, b, s, h, d);
            }
            boolean seen = attentionMask.get(b, t, s) != 0 && s <= t;
            weights[s] = seen ? Math.exp(dot) : 0;
            sum += weights[s];
        }
        for (int s = 0; s < SOURCES; s++) {
            weights[s] /= sum;
        }
        return weights;
    }

    /** Returns {@code einsum("abc,cde->abde", x, kernel) + bias} at one position. */
    private static double dense(Tensor x, Tensor kernel, Tensor bias, int b, int t, int h, int d) {
        double sum = bias.get(h, d);
        for (int c = 0; c < x.dim(2); c++) {
            sum += x.get(b, t, c) * kernel.get(c, h, d);
        }
        return sum;
    }
}

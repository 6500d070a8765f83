package io.multihead.internal.encoder.layer;

import io.multihead.internal.call.StateAccess;
import io.multihead.model.Buffers;
import io.multihead.model.PackedLinear;
import io.multihead.model.TokenBatch;

/**
 * The head of a cross-encoder on each sequence's states (Devlin et al. 2019, section 3): a linear layer on the first token's state, or on
 * the mean, a function of the layer's output, and a linear layer with an output for each label. The first layer is a product of all
 * sequences of a batch; the other steps are in double.
 */
public final class ClassificationHead {
    private final PackedLinear dense;
    private final boolean ofMean;
    private final Between between;
    private final float[] weight;
    private final float[] bias;

    /** The function between the two layers, from a row of the first layer's output to a row of the second layer's input. */
    private interface Between {
        void apply(float[] rows, int at, double[] to);
    }

    private ClassificationHead(PackedLinear dense, boolean ofMean, Between between, float[] weight, float[] bias) {
        this.dense = dense;
        this.ofMean = ofMean;
        this.between = between;
        this.weight = weight;
        this.bias = bias;
    }

    /** Returns a head on first tokens, with tanh between its layers. */
    public static ClassificationHead tanh(PackedLinear dense, float[] weight, float[] bias) {
        return new ClassificationHead(dense, false, ClassificationHead::tanh, weight, bias);
    }

    /** Returns a head on first tokens or on means, with a layer normalization between its layers. */
    public static ClassificationHead normalized(
            PackedLinear dense, boolean ofMean, LayerNorm norm, float[] weight, float[] bias) {
        return new ClassificationHead(dense, ofMean, norm::apply, weight, bias);
    }

    /** The layer normalization of a row. */
    @SuppressWarnings("ArrayRecordComponent")
    public record LayerNorm(float[] weight, float[] bias, double epsilon) {
        private void apply(float[] rows, int at, double[] to) {
            double mean = 0;
            for (int i = 0; i < to.length; i++) {
                mean += rows[at + i];
            }
            mean /= to.length;
            double variance = 0;
            for (int i = 0; i < to.length; i++) {
                to[i] = rows[at + i] - mean;
                variance += to[i] * to[i];
            }
            double factor = 1 / Math.sqrt(variance / to.length + epsilon);
            for (int i = 0; i < to.length; i++) {
                to[i] = to[i] * factor * weight[i] + bias[i];
            }
        }
    }

    private static void tanh(float[] rows, int at, double[] to) {
        for (int i = 0; i < to.length; i++) {
            to[i] = StrictMath.tanh(rows[at + i]); // Math.tanh may return other bits on other processors
        }
    }

    /** Returns the first layer. */
    public PackedLinear dense() {
        return dense;
    }

    /** Returns whether the first layer reads the mean of a sequence's states instead of the first state. */
    public boolean ofMean() {
        return ofMean;
    }

    public int labels() {
        return bias.length;
    }

    /** Replaces row i of the batch's states by the mean of the states of sequence i. Sums are in double. */
    public static void writeMeans(TokenBatch batch, Buffers buffers, double[] buffer) {
        float[] states = StateAccess.array(buffers);
        int stride = (int) buffers.states().stride(0);
        for (int i = 0; i < batch.sequences(); i++) {
            int from = batch.start(i);
            int end = batch.start(i + 1);
            for (int j = 0; j < buffer.length; j++) {
                buffer[j] = states[from * stride + j];
            }
            for (int token = from + 1; token < end; token++) {
                for (int j = 0; j < buffer.length; j++) {
                    buffer[j] += states[token * stride + j];
                }
            }
            // no later sequence contains this token, because each sequence has at least one token
            for (int j = 0; j < buffer.length; j++) {
                states[i * stride + j] = (float) (buffer[j] / (end - from));
            }
        }
    }

    /** Writes a number for each label from one row of the first layer's output; {@code buffer} is as long as the row. */
    public void logits(float[] rows, int at, double[] buffer, double[] to, int toAt) {
        between.apply(rows, at, buffer);
        for (int label = 0; label < bias.length; label++) {
            double sum = 0;
            for (int i = 0; i < buffer.length; i++) {
                sum += buffer[i] * weight[label * buffer.length + i];
            }
            to[toAt + label] = sum + bias[label];
        }
    }
}

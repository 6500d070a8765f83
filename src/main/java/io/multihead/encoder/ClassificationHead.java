package io.multihead.encoder;

import io.multihead.model.PackedLinear;
import io.multihead.tensor.Tensor;

/**
 * What a cross-encoder makes of the state of a sequence's first token (Devlin et al. 2019, section 3): a linear layer, tanh, and a linear layer
 * with an output for each label. The first is a product of all sequences of a batch; the rest is in double.
 */
final class ClassificationHead {
    private static final String DENSE = "pooler.dense";
    private static final String OUTPUT = "classifier";
    private static final String ROBERTA_DENSE = "classifier.dense";
    private static final String ROBERTA_OUTPUT = "classifier.out_proj";
    static final String OUTPUT_BIAS = OUTPUT + ".bias";

    private final PackedLinear dense;
    private final float[] weight;
    private final float[] bias;

    private ClassificationHead(PackedLinear dense, float[] weight, float[] bias) {
        this.dense = dense;
        this.weight = weight;
        this.bias = bias;
    }

    static ClassificationHead take(Weights weights, BertConfig config, int labels) {
        int dim = config.dim();
        String name = config.isRoberta() ? ROBERTA_OUTPUT : OUTPUT;
        Tensor output = weights.take(name + ".weight", labels, dim);
        Tensor bias = weights.take(name + ".bias", labels);
        PackedLinear dense = BertParts.linear(weights, config.isRoberta() ? ROBERTA_DENSE : DENSE, dim, dim);
        return new ClassificationHead(dense, output.toArray(), bias.toArray());
    }

    /** Returns the first layer. */
    PackedLinear dense() {
        return dense;
    }

    int labels() {
        return bias.length;
    }

    /** Returns the bytes of all weights, none of which is mapped. */
    long bytes() {
        return BertParts.bytes(dense.weights().panels(), false)
                + BertParts.biasBytes(dense)
                + (long) Float.BYTES * (weight.length + bias.length);
    }

    /** Writes the number of each label for one row of the first layer's output; {@code room} is as long as the row. */
    void logits(float[] rows, int at, double[] room, double[] to, int toAt) {
        for (int i = 0; i < room.length; i++) {
            room[i] = StrictMath.tanh(rows[at + i]); // Math.tanh may have other bits on other processors
        }
        for (int label = 0; label < bias.length; label++) {
            double sum = 0;
            for (int i = 0; i < room.length; i++) {
                sum += room[i] * weight[label * room.length + i];
            }
            to[toAt + label] = sum + bias[label];
        }
    }
}

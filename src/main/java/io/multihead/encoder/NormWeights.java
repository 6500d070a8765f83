package io.multihead.encoder;

import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.Map;

/** Factor and addend of a layer normalisation, padded with zeros. */
record NormWeights(float[] weight, float[] bias) {
    static NormWeights take(Weights weights, String name, int dim) {
        return new NormWeights(padded(weights.take(name + ".weight", dim)), padded(weights.take(name + ".bias", dim)));
    }

    /** Adds what {@link #take} takes. */
    void put(String name, int dim, Map<String, Tensor> to) {
        to.put(name + ".weight", Tensor.of(weight, dim));
        to.put(name + ".bias", Tensor.of(bias, dim));
    }

    private static float[] padded(Tensor tensor) {
        return Arrays.copyOf(tensor.toArray(), BertConfig.padded((int) tensor.dim(0)));
    }

    long bytes() {
        return (long) (weight.length + bias.length) * Float.BYTES;
    }
}

package io.multihead.encoder;

import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * The weights of one block, packed: nothing refers to what they were read from.
 *
 * @param projections query, key and value in one product
 * @param output attention's output
 * @param attentionNorm normalisation after attention
 * @param up the feed-forward layer's first product, and GELU
 * @param down the feed-forward layer's second product
 * @param outputNorm normalisation after the feed-forward layer
 */
record BertLayer(
        PackedLinear projections,
        PackedLinear output,
        NormWeights attentionNorm,
        PackedLinear up,
        PackedLinear down,
        NormWeights outputNorm) {

    /** A linear layer whose weight exists only in packed form. */
    record PackedLinear(PackedWeights weights, GemmOptions options) {
        static PackedLinear of(Tensor weight, Tensor bias) {
            Tensor own = Tensor.of(bias.toArray());
            return new PackedLinear(PackedWeights.of(weight.permute(1, 0)), GemmOptions.DEFAULT.withBias(own));
        }

        /** Returns the layer followed by GELU. */
        PackedLinear withGelu() {
            return new PackedLinear(weights, options.withActivation(GemmOptions.Activation.GELU));
        }

        /** Bytes of native memory and of the bias: columns are padded to panels of 32. */
        long bytes() {
            return (weights.inputs() * BertConfig.padded((int) weights.outputs()) + weights.outputs()) * Float.BYTES;
        }
    }

    /** Factor and addend of a layer normalisation, padded with zeros. */
    record NormWeights(float[] weight, float[] bias) {
        static NormWeights take(Weights weights, String name, int dim) {
            return new NormWeights(
                    padded(weights.take(name + ".weight", dim)), padded(weights.take(name + ".bias", dim)));
        }

        private static float[] padded(Tensor tensor) {
            return Arrays.copyOf(tensor.toArray(), BertConfig.padded((int) tensor.dim(0)));
        }

        long bytes() {
            return (long) (weight.length + bias.length) * Float.BYTES;
        }
    }

    static BertLayer take(Weights weights, int index, BertConfig config) {
        String layer = "encoder.layer." + index + ".";
        int dim = config.dim();
        String[] names = {"query", "key", "value"};
        Tensor[] parts = new Tensor[names.length];
        Tensor[] biases = new Tensor[names.length];
        for (int i = 0; i < names.length; i++) {
            parts[i] = weights.take(layer + "attention.self." + names[i] + ".weight", dim, dim);
            biases[i] = weights.take(layer + "attention.self." + names[i] + ".bias", dim);
        }
        Tensor bias = Tensor.of(new float[3 * dim]);
        Tensor.concat(0, bias, biases);
        Tensor fused = fuse(parts, dim);
        for (Tensor part : parts) {
            weights.release(part);
        }
        return new BertLayer(
                PackedLinear.of(fused, bias),
                linear(weights, layer + "attention.output.dense", dim, dim),
                NormWeights.take(weights, layer + "attention.output.LayerNorm", dim),
                linear(weights, layer + "intermediate.dense", config.inner(), dim)
                        .withGelu(),
                linear(weights, layer + "output.dense", dim, config.inner()),
                NormWeights.take(weights, layer + "output.LayerNorm", dim));
    }

    /** Returns the three weights one below another, stored in the order of their file: then whole rows are copied. */
    private static Tensor fuse(Tensor[] parts, int dim) {
        // allocated after the parts were found, which are no larger than their file
        float[] memory = new float[Checks.fitsInt(3L * dim * dim, "projections")];
        if (parts[0].stride(1) == 1) {
            Tensor fused = Tensor.of(memory, 3L * dim, dim);
            Tensor.concat(0, fused, parts);
            return fused;
        }
        Tensor transposed = Tensor.of(memory, dim, 3L * dim);
        Tensor.concat(
                1,
                transposed,
                Arrays.stream(parts).map(part -> part.permute(1, 0)).toArray(Tensor[]::new));
        return transposed.permute(1, 0);
    }

    private static PackedLinear linear(Weights weights, String name, int outputs, int inputs) {
        Tensor weight = weights.take(name + ".weight", outputs, inputs);
        PackedLinear packed = PackedLinear.of(weight, weights.take(name + ".bias", outputs));
        weights.release(weight);
        return packed;
    }

    long bytes() {
        return projections.bytes()
                + output.bytes()
                + attentionNorm.bytes()
                + up.bytes()
                + down.bytes()
                + outputNorm.bytes();
    }
}

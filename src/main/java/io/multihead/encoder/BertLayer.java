package io.multihead.encoder;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

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

    private static final String PROJECTIONS = "attention.projections";
    private static final String OUTPUT = "attention.output.dense";
    private static final String ATTENTION_NORM = "attention.output.LayerNorm";
    private static final String UP = "intermediate.dense";
    private static final String DOWN = "output.dense";
    private static final String OUTPUT_NORM = "output.LayerNorm";

    /** How a linear layer is made of weights. */
    private interface LinearReader {
        PackedLinear take(Weights weights, String name, int outputs, int inputs);
    }

    /** Takes the weights of a checkpoint, and packs them. */
    static BertLayer take(Weights weights, int index, BertConfig config) {
        String layer = name(index);
        return of(weights, layer, config, projections(weights, layer, config.dim()), PackedLinear::take);
    }

    /** Takes what {@link #put} named. */
    static BertLayer takePacked(Weights weights, int index, BertConfig config) {
        String layer = name(index);
        int dim = config.dim();
        PackedLinear projections = PackedLinear.takePacked(weights, layer + PROJECTIONS, 3 * dim, dim);
        return of(weights, layer, config, projections, PackedLinear::takePacked);
    }

    private static BertLayer of(
            Weights weights, String layer, BertConfig config, PackedLinear projections, LinearReader linear) {
        int dim = config.dim();
        return new BertLayer(
                projections,
                linear.take(weights, layer + OUTPUT, dim, dim),
                NormWeights.take(weights, layer + ATTENTION_NORM, dim),
                linear.take(weights, layer + UP, config.inner(), dim).withGelu(),
                linear.take(weights, layer + DOWN, dim, config.inner()),
                NormWeights.take(weights, layer + OUTPUT_NORM, dim));
    }

    private static String name(int index) {
        return "encoder.layer." + index + ".";
    }

    private static PackedLinear projections(Weights weights, String layer, int dim) {
        String[] names = {"query", "key", "value"};
        Tensor[] parts = new Tensor[names.length];
        Tensor[] biases = new Tensor[names.length];
        for (int i = 0; i < names.length; i++) {
            parts[i] = weights.take(layer + "attention.self." + names[i] + ".weight", dim, dim);
            biases[i] = weights.take(layer + "attention.self." + names[i] + ".bias", dim);
        }
        Tensor bias = Tensor.of(new float[3 * dim]);
        Tensor.concat(0, bias, biases);
        // native, so that it is freed at once: the garbage of a load makes the heap grow
        try (Arena arena = Arena.ofConfined()) {
            Tensor fused = fuse(arena, parts, dim);
            for (Tensor part : parts) {
                weights.release(part);
            }
            return PackedLinear.of(fused, bias);
        }
    }

    /** Returns the three weights one below another, stored in the order of their file: then whole rows are copied. */
    private static Tensor fuse(Arena arena, Tensor[] parts, int dim) {
        // allocated after the parts were found, which are no larger than their file
        if (parts[0].stride(1) == 1) {
            Tensor fused = Tensor.allocate(arena, DType.F32, Shape.of(3L * dim, dim));
            Tensor.concat(0, fused, parts);
            return fused;
        }
        Tensor transposed = Tensor.allocate(arena, DType.F32, Shape.of(dim, 3L * dim));
        Tensor.concat(
                1,
                transposed,
                Arrays.stream(parts).map(part -> part.permute(1, 0)).toArray(Tensor[]::new));
        return transposed.permute(1, 0);
    }

    /** Adds what {@link #takePacked} takes. */
    void put(int index, int dim, Map<String, Tensor> panels, Map<String, Tensor> others) {
        String layer = name(index);
        projections.put(layer + PROJECTIONS, panels, others);
        output.put(layer + OUTPUT, panels, others);
        attentionNorm.put(layer + ATTENTION_NORM, dim, others);
        up.put(layer + UP, panels, others);
        down.put(layer + DOWN, panels, others);
        outputNorm.put(layer + OUTPUT_NORM, dim, others);
    }

    /** Returns the bytes that this process holds for itself. */
    long ownBytes() {
        long bytes = attentionNorm.bytes() + outputNorm.bytes();
        for (PackedLinear linear : linears()) {
            bytes += linear.panelBytes(false) + linear.biasBytes();
        }
        return bytes;
    }

    /** Returns the bytes that are read from a mapped file. */
    long mappedBytes() {
        long bytes = 0;
        for (PackedLinear linear : linears()) {
            bytes += linear.panelBytes(true);
        }
        return bytes;
    }

    private List<PackedLinear> linears() {
        return List.of(projections, output, up, down);
    }
}

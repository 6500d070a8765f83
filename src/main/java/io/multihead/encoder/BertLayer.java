package io.multihead.encoder;

import io.multihead.attention.AttentionOptions;
import io.multihead.encoder.BertParts.LinearReader;
import io.multihead.gemm.Activation;
import io.multihead.model.Block;
import io.multihead.model.FeedForward;
import io.multihead.model.LinearGroup;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.model.SelfAttention;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The parts of one block, packed: nothing refers to what they were read from.
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
        Norm attentionNorm,
        PackedLinear up,
        PackedLinear down,
        Norm outputNorm) {

    private static final String PROJECTIONS = "attention.projections";
    private static final String OUTPUT = "attention.output.dense";
    private static final String ATTENTION_NORM = "attention.output.LayerNorm";
    private static final String UP = "intermediate.dense";
    private static final String DOWN = "output.dense";
    private static final String OUTPUT_NORM = "output.LayerNorm";

    /** Takes the weights of a checkpoint, and packs them. */
    static BertLayer take(Weights weights, int index, BertConfig config) {
        String layer = name(index);
        return of(weights, layer, config, projections(weights, layer, config.dim()), BertParts::linear);
    }

    /** Takes what {@link #put} named. */
    static BertLayer takePacked(Weights weights, int index, BertConfig config) {
        String layer = name(index);
        int dim = config.dim();
        PackedLinear projections = BertParts.packedLinear(weights, layer + PROJECTIONS, 3 * dim, dim);
        return of(weights, layer, config, projections, BertParts::packedLinear);
    }

    private static BertLayer of(
            Weights weights, String layer, BertConfig config, PackedLinear projections, LinearReader linear) {
        int dim = config.dim();
        return new BertLayer(
                projections,
                linear.take(weights, layer + OUTPUT, dim, dim),
                BertParts.norm(weights, layer + ATTENTION_NORM, config),
                linear.take(weights, layer + UP, config.inner(), dim).withActivation(Activation.GELU),
                linear.take(weights, layer + DOWN, dim, config.inner()),
                BertParts.norm(weights, layer + OUTPUT_NORM, config));
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
            return BertParts.linear(fused, bias);
        }
    }

    /** Returns the three weights as one matrix, one below another. Its axes have the order of the file, so that whole rows are copied. */
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

    /** Returns the block that these parts make: post-norm, every token sees every token. */
    Block block(BertConfig config) {
        int dim = config.dim();
        LinearGroup group = LinearGroup.concatenated(projections, dim, dim, dim);
        SelfAttention attention =
                SelfAttention.of(config.heads(), config.heads(), group, output, AttentionOptions.DEFAULT);
        return Block.postNorm(attention, attentionNorm, FeedForward.of(up, down), outputNorm);
    }

    /** Adds what {@link #takePacked} takes. */
    void put(int index, Map<String, Tensor> panels, Map<String, Tensor> others) {
        String layer = name(index);
        BertParts.put(projections, layer + PROJECTIONS, panels, others);
        BertParts.put(output, layer + OUTPUT, panels, others);
        BertParts.put(attentionNorm, layer + ATTENTION_NORM, others);
        BertParts.put(up, layer + UP, panels, others);
        BertParts.put(down, layer + DOWN, panels, others);
        BertParts.put(outputNorm, layer + OUTPUT_NORM, others);
    }

    /** Returns the bytes that this process holds for itself. */
    long ownBytes() {
        long bytes = attentionNorm.bytes() + outputNorm.bytes();
        for (PackedLinear linear : linears()) {
            bytes += BertParts.bytes(linear.weights().panels(), false) + BertParts.biasBytes(linear);
        }
        return bytes;
    }

    /** Returns the bytes that are read from a mapped file. */
    long mappedBytes() {
        long bytes = 0;
        for (PackedLinear linear : linears()) {
            bytes += BertParts.bytes(linear.weights().panels(), true);
        }
        return bytes;
    }

    private List<PackedLinear> linears() {
        return List.of(projections, output, up, down);
    }
}

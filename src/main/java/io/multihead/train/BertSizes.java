package io.multihead.train;

import io.multihead.internal.nn.InitialTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The sizes of a BERT encoder, which determine the names and shapes of its parameters.
 *
 * @param dim elements of a token's state
 * @param layers number of blocks
 * @param heads attention heads of a block
 * @param inner elements between the two products of a feed-forward layer
 * @param vocabulary rows of the word embedding table
 * @param positions rows of the table of positions
 * @param types rows of the table of token types
 * @param epsilon added to variances
 */
record BertSizes(int dim, int layers, int heads, int inner, int vocabulary, int positions, int types, double epsilon) {
    static final String WORDS = "embeddings.word_embeddings.weight";
    static final String POSITIONS = "embeddings.position_embeddings.weight";
    static final String TYPES = "embeddings.token_type_embeddings.weight";
    private static final String SELF = "attention.self.";

    /** Transformers' names for each parameter of a block: several names if the parameter has the rows of several weights. */
    private static final Map<String, List<String>> NAMES = Map.ofEntries(
            Map.entry(
                    "self_attn.in_proj_weight",
                    List.of(SELF + "query.weight", SELF + "key.weight", SELF + "value.weight")),
            Map.entry("self_attn.in_proj_bias", List.of(SELF + "query.bias", SELF + "key.bias", SELF + "value.bias")),
            Map.entry("self_attn.out_proj.weight", List.of("attention.output.dense.weight")),
            Map.entry("self_attn.out_proj.bias", List.of("attention.output.dense.bias")),
            Map.entry("norm1.weight", List.of("attention.output.LayerNorm.weight")),
            Map.entry("norm1.bias", List.of("attention.output.LayerNorm.bias")),
            Map.entry("linear1.weight", List.of("intermediate.dense.weight")),
            Map.entry("linear1.bias", List.of("intermediate.dense.bias")),
            Map.entry("linear2.weight", List.of("output.dense.weight")),
            Map.entry("linear2.bias", List.of("output.dense.bias")),
            Map.entry("norm2.weight", List.of("output.LayerNorm.weight")),
            Map.entry("norm2.bias", List.of("output.LayerNorm.bias")));

    /** Returns transformers' names of the weights in a parameter, in the order of the parameter's rows. */
    static List<String> theirNames(String parameter) {
        if (!parameter.startsWith("encoder.layer.")) {
            return List.of(parameter);
        }
        int block = parameter.indexOf('.', "encoder.layer.".length()) + 1;
        String prefix = parameter.substring(0, block);
        return NAMES.getOrDefault(parameter.substring(block), List.of()).stream()
                .map(name -> prefix + name)
                .toList();
    }

    /**
     * Draws the parameters of a head as BERT does: normal random numbers with a standard deviation of 0.02 for matrices, and
     * zeros for the others.
     */
    static Map<String, Tensor> drawn(Map<String, Shape> shapes, Arena arena, long seed) {
        InitialTensors random = new InitialTensors(seed, arena);
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        shapes.forEach((name, shape) -> drawn.put(
                name, shape.rank() == 2 ? random.normal(0.02, shape) : Tensor.allocate(arena, DType.F32, shape)));
        return drawn;
    }

    /** Returns the number of weight tensors in transformers' format. */
    int weights() {
        return 5 + 16 * layers;
    }

    Map<String, Shape> parameters() {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        shapes.put(WORDS, Shape.of(vocabulary, dim));
        shapes.put(POSITIONS, Shape.of(positions, dim));
        shapes.put(TYPES, Shape.of(types, dim));
        shapes.put("embeddings.LayerNorm.weight", Shape.of(dim));
        shapes.put("embeddings.LayerNorm.bias", Shape.of(dim));
        for (int layer = 0; layer < layers; layer++) {
            String prefix = "encoder.layer." + layer + ".";
            shapes.put(prefix + "self_attn.in_proj_weight", Shape.of(3L * dim, dim));
            shapes.put(prefix + "self_attn.in_proj_bias", Shape.of(3L * dim));
            shapes.put(prefix + "self_attn.out_proj.weight", Shape.of(dim, dim));
            shapes.put(prefix + "self_attn.out_proj.bias", Shape.of(dim));
            shapes.put(prefix + "linear1.weight", Shape.of(inner, dim));
            shapes.put(prefix + "linear1.bias", Shape.of(inner));
            shapes.put(prefix + "linear2.weight", Shape.of(dim, inner));
            shapes.put(prefix + "linear2.bias", Shape.of(dim));
            for (String norm : List.of("norm1.", "norm2.")) {
                shapes.put(prefix + norm + "weight", Shape.of(dim));
                shapes.put(prefix + norm + "bias", Shape.of(dim));
            }
        }
        return shapes;
    }
}

package io.multihead.nn.attention;

import io.multihead.internal.nn.InitialTensors;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;

/** Draws the parameters of a layer from the distributions of PyTorch's {@code nn.MultiheadAttention}. */
final class InitialWeights {
    private InitialWeights() {}

    /** Returns every parameter of a configuration, by name. */
    static Map<String, Tensor> draw(MultiHeadConfig config, long seed, Arena arena) {
        InitialTensors random = new InitialTensors(seed, arena);
        Map<String, Tensor> drawn = new LinkedHashMap<>();
        LayerParameters.shapes(config, LayerParameters.fusable(config))
                .forEach((name, shape) -> drawn.put(name, draw(random, name, shape, arena)));
        return drawn;
    }

    private static Tensor draw(InitialTensors random, String name, Shape shape, Arena arena) {
        return switch (name) {
            case LayerParameters.INPUT_BIAS, LayerParameters.OUTPUT_BIAS -> InitialTensors.constant(0, shape, arena);
            case LayerParameters.QUERY_NORM, LayerParameters.KEY_NORM -> InitialTensors.constant(1, shape, arena);
            case LayerParameters.KEY_BIAS, LayerParameters.VALUE_BIAS ->
                random.normal(1 / Math.sqrt(shape.dim(2)), shape);
            case LayerParameters.OUTPUT_WEIGHT -> random.uniform(1 / Math.sqrt(shape.dim(1)), shape);
            default -> random.uniform(Math.sqrt(6.0 / (shape.dim(0) + shape.dim(1))), shape);
        };
    }
}

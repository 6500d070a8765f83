package io.multihead.nn.attention;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a layer under PyTorch's names, checked against the configuration.
 *
 * @param config the layer's configuration
 * @param byName every parameter, in PyTorch's order, unmodifiable
 */
record LayerParameters(MultiHeadConfig config, Map<String, Tensor> byName) {
    static final String FUSED_WEIGHT = "in_proj_weight";
    static final String INPUT_BIAS = "in_proj_bias";
    static final String KEY_BIAS = "bias_k";
    static final String VALUE_BIAS = "bias_v";
    static final String OUTPUT_WEIGHT = "out_proj.weight";
    static final String OUTPUT_BIAS = "out_proj.bias";
    static final String QUERY_NORM = "q_norm.weight";
    static final String KEY_NORM = "k_norm.weight";

    /** Collects and checks the parameters. The weight of the inputs may be fused. */
    static LayerParameters of(MultiHeadConfig config, Function<String, @Nullable Tensor> source) {
        boolean fused = fusable(config)
                && (find(source, FUSED_WEIGHT) != null || find(source, Projection.QUERY.weightName()) == null);
        Map<String, Shape> shapes = shapes(config, fused);
        Map<String, Tensor> found = new LinkedHashMap<>();
        shapes.forEach(
                (name, shape) -> found.put(name, TensorChecks.requireParameter(source.apply(name), name, shape)));
        requireNoOther(List.of(QUERY_NORM, KEY_NORM), shapes, source, ", as the config has no norm of heads");
        List<String> biases = List.of(INPUT_BIAS, KEY_BIAS, VALUE_BIAS, OUTPUT_BIAS);
        requireNoOther(biases, shapes, source, ", as the config has no such bias");
        List<String> weights = new ArrayList<>(List.of(FUSED_WEIGHT));
        for (Projection projection : Projection.values()) {
            weights.add(projection.weightName());
        }
        requireNoOther(weights, shapes, source, " beside " + (fused ? FUSED_WEIGHT : Projection.QUERY.weightName()));
        return new LayerParameters(config, Collections.unmodifiableMap(found));
    }

    /** Fails if the source has one of these parameters, which would be ignored. */
    private static void requireNoOther(
            List<String> names, Map<String, Shape> used, Function<String, @Nullable Tensor> source, String reason) {
        for (String name : names) {
            Tensor surplus = used.containsKey(name) ? null : find(source, name);
            if (surplus != null) {
                throw Checks.fail(name, "shape " + surplus.shape(), "expected none" + reason);
            }
        }
    }

    /** Requests a parameter that may be absent. A source that refuses unknown names only means that the parameter is missing. */
    private static @Nullable Tensor find(Function<String, @Nullable Tensor> source, String name) {
        try {
            return source.apply(name);
        } catch (IllegalArgumentException refused) {
            throw new IllegalArgumentException(
                    "parameters: failed for " + name + ", which the layer need not have (" + refused.getMessage()
                            + "); expected null for a name without a tensor, as Safetensors.find returns",
                    refused);
        }
    }

    /** Returns the names and shapes of the parameters, in PyTorch's order. */
    static Map<String, Shape> shapes(MultiHeadConfig config, boolean fused) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        long rows = Projection.allOutputs(config);
        if (fused) {
            shapes.put(FUSED_WEIGHT, Shape.of(rows, config.embedDim()));
        } else {
            for (Projection projection : Projection.values()) {
                shapes.put(projection.weightName(), Shape.of(projection.outputs(config), projection.inputs(config)));
            }
        }
        if (config.bias()) {
            shapes.put(INPUT_BIAS, Shape.of(rows));
        }
        if (config.keyValueBias()) {
            shapes.put(KEY_BIAS, Shape.of(1, 1, Projection.KEY.outputs(config)));
            shapes.put(VALUE_BIAS, Shape.of(1, 1, Projection.VALUE.outputs(config)));
        }
        long outputs = config.outputShape().elements();
        shapes.put(OUTPUT_WEIGHT, Shape.of(outputs, config.queryHeads() * config.valueDim()));
        if (config.bias()) {
            shapes.put(OUTPUT_BIAS, Shape.of(outputs));
        }
        if (config.headNorm().isPresent()) {
            shapes.put(QUERY_NORM, Shape.of(config.headDim()));
            shapes.put(KEY_NORM, Shape.of(config.headDim()));
        }
        return shapes;
    }

    /** Returns whether query, key and value have one width, so that one matrix can project all three. */
    static boolean fusable(MultiHeadConfig config) {
        long width = config.embedDim();
        return config.keyInputDim() == width && config.valueInputDim() == width;
    }

    /** Returns a parameter that the configuration has. */
    Tensor get(String name) {
        return Checks.notNull(byName.get(name), name);
    }

    /** Returns a parameter that the configuration may not have. */
    @Nullable
    Tensor find(String name) {
        return byName.get(name);
    }

    /** Returns the weight {@code [outputs, inputs]} of one projection: a view of the fused one, or a separate one. */
    Tensor weight(Projection projection) {
        Tensor fused = find(FUSED_WEIGHT);
        return fused == null ? get(projection.weightName()) : projection.rows(config, fused);
    }

    /** Returns the bias of one projection, a view; null if there is none. */
    @Nullable
    Tensor bias(Projection projection) {
        Tensor all = find(INPUT_BIAS);
        return all == null ? null : projection.rows(config, all);
    }
}

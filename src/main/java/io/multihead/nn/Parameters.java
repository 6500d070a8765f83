package io.multihead.nn;

import io.multihead.internal.Checks;
import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A layer's parameters under PyTorch's names, checked against the configuration.
 *
 * @param config what the layer computes
 * @param byName every parameter, in PyTorch's order, unmodifiable
 */
record Parameters(Config config, Map<String, Tensor> byName) {
    static final String FUSED_WEIGHT = "in_proj_weight";
    static final String INPUT_BIAS = "in_proj_bias";
    static final String KEY_BIAS = "bias_k";
    static final String VALUE_BIAS = "bias_v";
    static final String OUTPUT_WEIGHT = "out_proj.weight";
    static final String OUTPUT_BIAS = "out_proj.bias";

    /** Collects and checks the parameters; prefers a fused weight when there is one. */
    static Parameters of(Config config, Function<String, @Nullable Tensor> source) {
        boolean fused = fusable(config)
                && (source.apply(FUSED_WEIGHT) != null || source.apply(Projection.QUERY.weightName()) == null);
        Map<String, Shape> shapes = shapes(config, fused);
        Map<String, Tensor> found = new LinkedHashMap<>();
        shapes.forEach((name, shape) -> found.put(name, require(source.apply(name), name, shape)));
        for (String name : new String[] {INPUT_BIAS, KEY_BIAS, VALUE_BIAS, OUTPUT_BIAS}) {
            Tensor surplus = shapes.containsKey(name) ? null : source.apply(name);
            if (surplus != null) {
                throw Checks.fail(name, "shape " + surplus.shape(), "expected none, as the config has no such bias");
            }
        }
        return new Parameters(config, Collections.unmodifiableMap(found));
    }

    /** Which parameters there are, and their shapes, in PyTorch's order. */
    static Map<String, Shape> shapes(Config config, boolean fused) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        long rows = Projection.allOutputs(config);
        if (fused) {
            shapes.put(FUSED_WEIGHT, Shape.of(rows, config.widths().embedDim()));
        } else {
            for (Projection projection : Projection.values()) {
                shapes.put(projection.weightName(), Shape.of(projection.outputs(config), projection.inputs(config)));
            }
        }
        if (config.extras().bias()) {
            shapes.put(INPUT_BIAS, Shape.of(rows));
        }
        if (config.extras().keyValueBias()) {
            shapes.put(KEY_BIAS, Shape.of(1, 1, Projection.KEY.outputs(config)));
            shapes.put(VALUE_BIAS, Shape.of(1, 1, Projection.VALUE.outputs(config)));
        }
        long outputs = config.widths().outputShape().elements();
        shapes.put(
                OUTPUT_WEIGHT,
                Shape.of(outputs, config.heads().queryHeads() * config.heads().valueDim()));
        if (config.extras().bias()) {
            shapes.put(OUTPUT_BIAS, Shape.of(outputs));
        }
        return shapes;
    }

    /** Whether query, key and value have one width, so that one matrix can project all three. */
    static boolean fusable(Config config) {
        long width = config.widths().embedDim();
        return config.widths().keyInputDim() == width && config.widths().valueInputDim() == width;
    }

    /** A parameter that the configuration has. */
    Tensor get(String name) {
        return Checks.notNull(byName.get(name), name);
    }

    /** A parameter that the configuration may not have. */
    @Nullable
    Tensor find(String name) {
        return byName.get(name);
    }

    /** The weight {@code [outputs, inputs]} of one projection: a view of the fused one, or one of its own. */
    Tensor weight(Projection projection) {
        Tensor fused = find(FUSED_WEIGHT);
        return fused == null ? get(projection.weightName()) : projection.rows(config, fused);
    }

    /** The bias of one projection, a view; null when there is none. */
    @Nullable
    Tensor bias(Projection projection) {
        Tensor all = find(INPUT_BIAS);
        return all == null ? null : projection.rows(config, all);
    }

    private static Tensor require(@Nullable Tensor tensor, String name, Shape shape) {
        if (tensor == null) {
            throw Checks.fail(name, "missing", "expected a tensor of shape " + shape);
        }
        if (!tensor.shape().equals(shape)) {
            throw Checks.fail(name, "shape " + tensor.shape(), "expected " + shape);
        }
        if (!tensor.dtype().isFloating()) {
            throw Checks.fail(name, tensor.toString(), "expected a floating element type");
        }
        return tensor;
    }
}

package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.nn.Linear;
import io.multihead.nn.Pass;
import io.multihead.tensor.Tensor;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Projects one recorded call with linear layers that read the weights without packing: the inputs in one multiplication if query, key and
 * value are one tensor with a fused weight, otherwise in three. Results are dense, since the gradients of weights are products over all
 * rows.
 */
final class RecordedProjector implements Projector {
    private final LayerParameters parameters;
    private final MultiHeadConfig config;
    private final Map<Projection, Tensor> inputs = new EnumMap<>(Projection.class);
    private final Map<Projection, Pass> passes = new EnumMap<>(Projection.class);
    private @Nullable Pass fused;
    private @Nullable Pass output;

    RecordedProjector(LayerParameters parameters) {
        this.parameters = parameters;
        this.config = parameters.config();
    }

    @Override
    public ProjectedHeads project(Compute cpu, TensorArena arena, Tensor query, Tensor key, Tensor value) {
        inputs.put(Projection.QUERY, query);
        inputs.put(Projection.KEY, key);
        inputs.put(Projection.VALUE, value);
        Tensor fusedWeight = parameters.find(LayerParameters.FUSED_WEIGHT);
        if (fusedWeight != null && query == key && key == value) {
            Tensor all = allocate(arena, query, Projection.allOutputs(config));
            fused = Linear.of(fusedWeight, parameters.find(LayerParameters.INPUT_BIAS))
                    .record(cpu, query, all, 0);
            return ProjectedHeads.ofFused(config, all);
        }
        return separate(projection -> {
            Tensor input = input(projection);
            Tensor result = allocate(arena, input, projection.outputs(config));
            Linear linear = Linear.of(parameters.weight(projection), parameters.bias(projection));
            passes.put(projection, linear.record(cpu, input, result, 0));
            return result;
        });
    }

    @Override
    public void projectOutput(Compute cpu, TensorArena arena, Tensor attended, Tensor result) {
        Linear linear =
                Linear.of(parameters.get(LayerParameters.OUTPUT_WEIGHT), parameters.find(LayerParameters.OUTPUT_BIAS));
        output = linear.record(cpu, attended, result, 0);
    }

    @Override
    public Tensor allocate(TensorArena arena, Tensor like, long features) {
        return arena.f32(like.dim(0), like.dim(1), features);
    }

    /**
     * Computes the backward pass of the output projection: writes the gradient of the concatenated heads, and adds the gradients of the
     * parameters.
     */
    void backwardOutput(Tensor outputGradient, Tensor attendedGradient, Map<String, Tensor> parameterGradients) {
        Map<String, Tensor> own = new LinkedHashMap<>();
        putIfPresent(own, "weight", parameterGradients.get(LayerParameters.OUTPUT_WEIGHT));
        putIfPresent(own, "bias", config.bias() ? parameterGradients.get(LayerParameters.OUTPUT_BIAS) : null);
        Checks.notNull(output, "output").backward(outputGradient, attendedGradient, own);
    }

    private Tensor input(Projection projection) {
        return Checks.notNull(inputs.get(projection), "input");
    }

    HeadGradients allocateGradients(TensorArena scratch) {
        if (fused != null) {
            Tensor all = allocate(scratch, input(Projection.QUERY), Projection.allOutputs(config));
            return new HeadGradients(Map.of(), all, ProjectedHeads.ofFused(config, all));
        }
        Map<Projection, Tensor> dense = new EnumMap<>(Projection.class);
        ProjectedHeads heads = separate(projection -> {
            Tensor gradient = allocate(scratch, input(projection), projection.outputs(config));
            dense.put(projection, gradient);
            return gradient;
        });
        return new HeadGradients(dense, null, heads);
    }

    /**
     * The gradients of the projected heads.
     *
     * @param separate dense gradients of three projections, or none
     * @param fused the dense gradient of the fused projection, or null
     * @param heads views of these gradients as heads
     */
    record HeadGradients(
            Map<Projection, Tensor> separate, @Nullable Tensor fused, ProjectedHeads heads) {}

    /**
     * Computes the backward pass of the input projections: adds the gradients of parameters.
     *
     * @param to the tensors of the gradients of the inputs {@code [batch, tokens, features]}, written; none if not needed. If one tensor
     *     was given as several inputs, the first gradient tensor of these inputs receives the sum
     */
    void backwardInputs(
            Compute cpu,
            TensorArena scratch,
            HeadGradients from,
            Map<Projection, Tensor> to,
            Map<String, Tensor> gradients) {
        if (fused != null) {
            Map<String, Tensor> own = new LinkedHashMap<>();
            putIfPresent(own, "weight", gradients.get(LayerParameters.FUSED_WEIGHT));
            putIfPresent(own, "bias", inputBias(gradients));
            fused.backward(Checks.notNull(from.fused, "fused"), to.get(Projection.QUERY), own);
            return;
        }
        boolean keyIsQuery = input(Projection.KEY) == input(Projection.QUERY);
        boolean valueIsKey = input(Projection.VALUE) == input(Projection.KEY);
        Tensor ofQuery = to.get(Projection.QUERY);
        Tensor ofKey = keyIsQuery ? ofQuery : to.get(Projection.KEY);
        Tensor ofValue = valueIsKey ? ofKey : to.get(Projection.VALUE);
        // addends of a sum are f32, so that a narrow sum is rounded once
        Tensor query = keyIsQuery ? addend(scratch, ofQuery) : ofQuery;
        Tensor key = keyIsQuery || valueIsKey ? addend(scratch, ofKey) : ofKey;
        Tensor value = valueIsKey ? addend(scratch, ofValue) : ofValue;
        one(Projection.QUERY, from, query, gradients);
        one(Projection.KEY, from, key, gradients);
        one(Projection.VALUE, from, value, gradients);
        if (valueIsKey && key != null && value != null) {
            add(cpu, key, value, keyIsQuery ? key : ofKey);
        }
        if (keyIsQuery && query != null && key != null) {
            add(cpu, query, key, ofQuery);
        }
    }

    private static @Nullable Tensor addend(TensorArena scratch, @Nullable Tensor sum) {
        return sum == null ? null : scratch.f32(sum.shape().toArray());
    }

    private static void add(Compute cpu, Tensor a, Tensor b, @Nullable Tensor to) {
        TensorMath.add(cpu, a, b, Checks.notNull(to, "sum"));
    }

    private void one(
            Projection projection, HeadGradients from, @Nullable Tensor to, Map<String, Tensor> parameterGradients) {
        Map<String, Tensor> own = new LinkedHashMap<>();
        boolean separate = parameters.find(LayerParameters.FUSED_WEIGHT) == null;
        Tensor weight = parameterGradients.get(separate ? projection.weightName() : LayerParameters.FUSED_WEIGHT);
        if (weight != null) {
            own.put("weight", separate ? weight : projection.rows(config, weight));
        }
        Tensor bias = inputBias(parameterGradients);
        if (bias != null) {
            own.put("bias", projection.rows(config, bias));
        }
        Checks.notNull(passes.get(projection), "pass")
                .backward(Checks.notNull(from.separate.get(projection), "gradient"), to, own);
    }

    private @Nullable Tensor inputBias(Map<String, Tensor> parameterGradients) {
        return config.bias() ? parameterGradients.get(LayerParameters.INPUT_BIAS) : null;
    }

    private ProjectedHeads separate(Function<Projection, Tensor> results) {
        return ProjectedHeads.ofSeparate(
                config,
                results.apply(Projection.QUERY),
                results.apply(Projection.KEY),
                results.apply(Projection.VALUE));
    }

    private static void putIfPresent(Map<String, Tensor> gradients, String name, @Nullable Tensor tensor) {
        if (tensor != null) {
            gradients.put(name, tensor);
        }
    }
}

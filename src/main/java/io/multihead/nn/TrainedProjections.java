package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.Tensor;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The input projections of one recorded call, from the weights as they are: one multiplication when query, key and value are
 * one tensor with a fused weight, else three.
 */
final class TrainedProjections {
    private final Parameters parameters;
    private final Config config;
    private final Map<Projection, Tensor> inputs = new EnumMap<>(Projection.class);
    private final Map<Projection, Pass> passes = new EnumMap<>(Projection.class);
    private final Map<Projection, Tensor> gradients = new EnumMap<>(Projection.class);
    private @Nullable Pass fused;
    private @Nullable Tensor fusedGradient;
    private Projections.Projected projected;

    private TrainedProjections(Parameters parameters) {
        this.parameters = parameters;
        this.config = parameters.config();
    }

    /** Projects {@code [batch, tokens, features]}. */
    static TrainedProjections record(
            Compute cpu, Temporaries temporaries, Parameters parameters, Tensor query, Tensor key, Tensor value) {
        TrainedProjections result = new TrainedProjections(parameters);
        result.inputs.put(Projection.QUERY, query);
        result.inputs.put(Projection.KEY, key);
        result.inputs.put(Projection.VALUE, value);
        Tensor fusedWeight = parameters.find(Parameters.FUSED_WEIGHT);
        if (fusedWeight != null && query == key && key == value) {
            Tensor all = temporaries.f32(query.dim(0), query.dim(1), Projection.allOutputs(result.config));
            Linear linear = Linear.of(fusedWeight, parameters.find(Parameters.INPUT_BIAS));
            result.fused = linear.record(cpu, query, all, 0);
            result.projected = result.heads(all);
            return result;
        }
        Map<Projection, Tensor> outputs = new EnumMap<>(Projection.class);
        result.inputs.forEach((projection, input) -> {
            Tensor output = temporaries.f32(input.dim(0), input.dim(1), projection.outputs(result.config));
            Linear linear = Linear.of(parameters.weight(projection), parameters.bias(projection));
            result.passes.put(projection, linear.record(cpu, input, output, 0));
            outputs.put(projection, output);
        });
        result.projected = result.heads(outputs);
        return result;
    }

    /** Query, key and value as heads. */
    Projections.Projected projected() {
        return projected;
    }

    /** Room for the gradients of the projected heads; {@link #backward} goes on from there. */
    Projections.Projected gradients(Temporaries scratch) {
        if (fused != null) {
            Tensor input = inputs.get(Projection.QUERY);
            fusedGradient = scratch.f32(input.dim(0), input.dim(1), Projection.allOutputs(config));
            return heads(fusedGradient);
        }
        inputs.forEach((projection, input) ->
                gradients.put(projection, scratch.f32(input.dim(0), input.dim(1), projection.outputs(config))));
        return heads(gradients);
    }

    /** From the gradients of the heads to those of inputs and parameters. */
    void backward(
            Temporaries scratch,
            Axes axes,
            MultiHeadInputs call,
            MultiHeadGradients to,
            Map<String, Tensor> parameterGradients) {
        if (fused != null) {
            Map<String, Tensor> own = new LinkedHashMap<>();
            MultiHeadPass.putIfPresent(own, "weight", parameterGradients.get(Parameters.FUSED_WEIGHT));
            MultiHeadPass.putIfPresent(own, "bias", inputBias(parameterGradients));
            Tensor x = inputs.get(Projection.QUERY);
            Tensor dx = to.query() == null ? null : scratch.f32(x.shape().toArray());
            fused.backward(fusedGradient, dx, own);
            deliver(axes, dx, to.query());
            return;
        }
        Tensor query = one(scratch, Projection.QUERY, parameterGradients);
        Tensor key = one(scratch, Projection.KEY, parameterGradients);
        Tensor value = one(scratch, Projection.VALUE, parameterGradients);
        if (call.value() == call.key()) {
            Temporaries.add(key, value);
        }
        if (call.key() == call.query()) {
            Temporaries.add(query, key);
        }
        deliver(axes, query, to.query());
        deliver(axes, key, to.key());
        deliver(axes, value, to.value());
    }

    private Tensor one(Temporaries scratch, Projection projection, Map<String, Tensor> parameterGradients) {
        Map<String, Tensor> own = new LinkedHashMap<>();
        Tensor whole = parameterGradients.get(
                parameters.find(Parameters.FUSED_WEIGHT) == null ? projection.weightName() : Parameters.FUSED_WEIGHT);
        if (whole != null) {
            boolean apart = parameters.find(Parameters.FUSED_WEIGHT) == null;
            own.put("weight", apart ? whole : projection.rows(config, whole));
        }
        Tensor bias = inputBias(parameterGradients);
        if (bias != null) {
            own.put("bias", projection.rows(config, bias));
        }
        Tensor dx = scratch.f32(inputs.get(projection).shape().toArray());
        passes.get(projection).backward(gradients.get(projection), dx, own);
        return dx;
    }

    private @Nullable Tensor inputBias(Map<String, Tensor> parameterGradients) {
        return config.extras().bias() ? parameterGradients.get(Parameters.INPUT_BIAS) : null;
    }

    private static void deliver(Axes axes, @Nullable Tensor dense, @Nullable Tensor to) {
        if (dense != null && to != null) {
            Tensor ordered = axes.inOrder(to);
            dense.reshape(ordered.shape().toArray()).copyTo(ordered);
        }
    }

    private Projections.Projected heads(Tensor all) {
        return new Projections.Projected(
                Projection.QUERY.heads(config, all),
                Projection.KEY.heads(config, all),
                Projection.VALUE.heads(config, all));
    }

    private Projections.Projected heads(Map<Projection, Tensor> apart) {
        return new Projections.Projected(
                heads(apart, Projection.QUERY), heads(apart, Projection.KEY), heads(apart, Projection.VALUE));
    }

    private Tensor heads(Map<Projection, Tensor> apart, Projection projection) {
        return Views.splitHeads(apart.get(projection), projection.heads(config));
    }
}

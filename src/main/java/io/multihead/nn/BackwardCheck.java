package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks the tensors of a backward through {@link MultiHeadAttention}, before anything is written. */
final class BackwardCheck {
    private BackwardCheck() {}

    static void check(
            Compute cpu,
            Parameters parameters,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            Tensor outputGradient,
            MultiHeadGradients to,
            Map<String, Tensor> gradients) {
        Checks.notNull(to, "inputGradients");
        CallTensors tensors = new CallTensors(cpu)
                .reads("query", inputs.query(), inputs.query().shape())
                .reads("key", inputs.key(), inputs.key().shape())
                .reads("value", inputs.value(), inputs.value().shape())
                .reads(parameters.byName())
                .reads("outputGradient", outputGradient, outputs.output().shape());
        writes(tensors, "query gradient", to.query(), inputs.query());
        writes(tensors, "key gradient", to.key(), inputs.key());
        writes(tensors, "value gradient", to.value(), inputs.value());
        requireOnce("key gradient", to.key(), inputs.key() == inputs.query(), "query");
        requireOnce("value gradient", to.value(), inputs.value() == inputs.key(), "key");
        scoreBias(tensors, inputs.scoreMask(), to.scoreBias());
        headMask(tensors, parameters, inputs, to.headMask());
        Checks.notNull(gradients, "gradients");
        parameters.byName().forEach((name, parameter) -> {
            Tensor gradient = gradients.get(name);
            if (gradient != null) {
                tensors.writes("gradient of " + name, gradient, parameter.shape());
            }
        });
    }

    private static void scoreBias(CallTensors tensors, @Nullable Tensor bias, @Nullable Tensor gradient) {
        if (gradient == null) {
            return;
        }
        if (bias == null || !bias.dtype().isFloating()) {
            throw Checks.fail(
                    "scoreBias gradient", "shape " + gradient.shape(), "expected none, as the call had no score bias");
        }
        writes(tensors, "scoreBias gradient", gradient, bias);
    }

    private static void headMask(
            CallTensors tensors, Parameters parameters, MultiHeadInputs inputs, @Nullable Tensor gradient) {
        if (gradient == null) {
            return;
        }
        long heads = parameters.config().heads().queryHeads();
        long batch = Axes.of(parameters.config(), inputs.query().shape())
                .batch(inputs.query().shape());
        Shape expected = inputs.headMask() != null
                ? inputs.headMask().shape()
                : gradient.rank() == 2 ? Shape.of(batch, heads) : Shape.of(heads);
        tensors.writes("headMask gradient", gradient, expected);
    }

    private static void requireOnce(String name, @Nullable Tensor gradient, boolean same, String first) {
        if (gradient != null && same) {
            throw Checks.fail(
                    name, "given", "expected null: it was one tensor with the " + first + ", which takes all");
        }
    }

    private static void writes(CallTensors tensors, String name, @Nullable Tensor gradient, Tensor of) {
        if (gradient != null) {
            tensors.writes(name, gradient, of.shape());
        }
    }
}

package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks the tensors of a backward through {@link MultiHeadAttention}, before anything is written. */
final class BackwardChecks {
    private BackwardChecks() {}

    static void check(
            Compute cpu,
            LayerParameters parameters,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            MultiHeadOutputs outputGradients,
            MultiHeadGradients to,
            Map<String, Tensor> gradients) {
        TensorChecks tensors = new TensorChecks(cpu)
                .reads("query", inputs.query(), inputs.query().shape())
                .reads("key", inputs.key(), inputs.key().shape())
                .reads("value", inputs.value(), inputs.value().shape())
                .reads(parameters.byName())
                .reads(
                        "outputGradient",
                        outputGradients.output(),
                        outputs.output().shape());
        weights(tensors, parameters.config(), inputs, outputs, outputGradients);
        inputs(tensors, parameters.config(), inputs, to);
        tensors.writesGradients(parameters.byName(), gradients);
    }

    /** Checks where the gradients of the inputs, of a bias of the mask and of the head mask go. */
    static void inputs(TensorChecks tensors, MultiHeadConfig config, MultiHeadInputs inputs, MultiHeadGradients to) {
        Checks.notNull(to, "inputGradients");
        writes(tensors, "query gradient", to.query(), inputs.query());
        writes(tensors, "key gradient", to.key(), inputs.key());
        writes(tensors, "value gradient", to.value(), inputs.value());
        requireOnce("key gradient", to.key(), inputs.key() == inputs.query(), "query");
        requireOnce("value gradient", to.value(), inputs.value() == inputs.key(), "key");
        scoreBias(tensors, config.options().mask().and(inputs.mask()), to.scoreBias());
        headMask(tensors, config, inputs, to.headMask());
        if (to.sinks() != null && config.options().scores().sinks() == null) {
            throw Checks.fail("sinks gradient", "given", "expected options with sinks, as the configuration has none");
        }
        if (to.sinks() != null) {
            tensors.writes("sinks gradient", to.sinks(), Shape.of(config.queryHeads()));
        }
    }

    /** Checks the gradients of attention weights: the call must have returned some, averaged or not. */
    private static void weights(
            TensorChecks tensors,
            MultiHeadConfig config,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            MultiHeadOutputs gradients) {
        Tensor average = gradients.averageWeights();
        Tensor perHead = gradients.headWeights();
        if (average == null && perHead == null) {
            return;
        }
        if (outputs.averageWeights() == null && outputs.headWeights() == null) {
            throw Checks.fail("weights gradient", "given", "expected outputs with weights, as none were recorded");
        }
        AxisLayout axes = AxisLayout.of(config, inputs.query().shape());
        if (average != null) {
            tensors.reads("averageWeights gradient", average, axes.weights(config, inputs, false));
        }
        if (perHead != null) {
            tensors.reads("headWeights gradient", perHead, axes.weights(config, inputs, true));
        }
    }

    private static void scoreBias(TensorChecks tensors, Mask mask, @Nullable Tensor gradient) {
        if (gradient == null) {
            return;
        }
        List<Shape> shapes = mask.tensors().stream()
                .filter(tensor -> tensor.dtype().isFloating())
                .map(Tensor::shape)
                .toList();
        if (!shapes.contains(gradient.shape())) {
            throw Checks.fail(
                    "scoreBias gradient",
                    "shape " + gradient.shape(),
                    "expected that of a bias of the mask, of " + shapes);
        }
        tensors.writes("scoreBias gradient", gradient, gradient.shape());
    }

    private static void headMask(
            TensorChecks tensors, MultiHeadConfig config, MultiHeadInputs inputs, @Nullable Tensor gradient) {
        if (gradient == null) {
            return;
        }
        long heads = config.queryHeads();
        long batch = AxisLayout.of(config, inputs.query().shape())
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

    private static void writes(TensorChecks tensors, String name, @Nullable Tensor gradient, Tensor of) {
        if (gradient != null) {
            tensors.writes(name, gradient, of.shape());
        }
    }
}

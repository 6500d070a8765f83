package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks the tensors of a backward through {@link MultiHeadAttention}, before anything is written.
 *
 * @param tensors the tensors that the call has read and written so far
 * @param config the layer's configuration
 * @param saved the values that forward kept
 */
record BackwardChecks(TensorChecks tensors, MultiHeadConfig config, LayerPipeline.Saved saved) {

    /** Checks all tensors that the forward call read and wrote, and all gradients. */
    void all(
            LayerParameters parameters,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            MultiHeadOutputs outputGradients,
            MultiHeadGradients to,
            Map<String, Tensor> gradients) {
        Tensor output = outputs.output();
        tensors.reads("query", inputs.query(), inputs.query().shape())
                .reads("key", inputs.key(), inputs.key().shape())
                .reads("value", inputs.value(), inputs.value().shape())
                .reads(parameters.byName())
                .reads("output", output, output.shape());
        reads("averageWeights", outputs.averageWeights());
        reads("headWeights", outputs.headWeights());
        tensors.reads("outputGradient", outputGradients.output(), output.shape());
        weights(inputs, outputs, outputGradients);
        inputs(inputs, to);
        tensors.writesGradients(parameters.byName(), gradients);
    }

    /**
     * Checks the masks that forward read, and the tensors of the gradients of the inputs, of a bias of the mask, of the head mask and of
     * sinks.
     */
    void inputs(MultiHeadInputs inputs, MultiHeadGradients to) {
        Checks.notNull(to, "inputGradients");
        requireDerivative(config);
        ForwardChecks.readMasks(tensors, saved.options().mask(), inputs.headMask());
        writes("query gradient", to.query(), inputs.query());
        writes("key gradient", to.key(), inputs.key());
        writes("value gradient", to.value(), inputs.value());
        requireOnce("key gradient", to.key(), inputs.key() == inputs.query(), "query");
        requireOnce("value gradient", to.value(), inputs.value() == inputs.key(), "key");
        scoreBias(saved.options().mask(), to.scoreBias());
        headMask(inputs, to.headMask());
        if (to.sinks() != null && config.options().scores().sinks() == null) {
            throw Checks.fail("sinks gradient", "given", "expected options with sinks, as the configuration has none");
        }
        if (to.sinks() != null) {
            tensors.writes("sinks gradient", to.sinks(), Shape.of(config.queryHeads()));
        }
    }

    /** Fails if the scores have a modifier. */
    static void requireDerivative(MultiHeadConfig config) {
        if (config.options().scores().modifier() != null) {
            throw Checks.fail("modifier", "given", "expected none, as backward does not know its derivative");
        }
    }

    /** Checks the gradients of attention weights: the call must have returned some, averaged or not. */
    private void weights(MultiHeadInputs inputs, MultiHeadOutputs outputs, MultiHeadOutputs gradients) {
        Tensor average = gradients.averageWeights();
        Tensor perHead = gradients.headWeights();
        if (average == null && perHead == null) {
            return;
        }
        if (outputs.averageWeights() == null && outputs.headWeights() == null) {
            throw Checks.fail("weights gradient", "given", "expected outputs with weights, as none were recorded");
        }
        AxisLayout axes = saved.axes();
        if (average != null) {
            tensors.reads("averageWeights gradient", average, axes.weights(config, inputs, false));
        }
        if (perHead != null) {
            tensors.reads("headWeights gradient", perHead, axes.weights(config, inputs, true));
        }
    }

    private void scoreBias(Mask mask, @Nullable Tensor gradient) {
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
                    "expected the shape of a bias of the mask, one of " + shapes);
        }
        tensors.writes("scoreBias gradient", gradient, gradient.shape());
    }

    private void headMask(MultiHeadInputs inputs, @Nullable Tensor gradient) {
        if (gradient == null) {
            return;
        }
        long heads = config.queryHeads();
        long batch = saved.axes().batch(inputs.query().shape());
        Shape expected = inputs.headMask() != null
                ? inputs.headMask().shape()
                : gradient.rank() == 2 ? Shape.of(batch, heads) : Shape.of(heads);
        tensors.writes("headMask gradient", gradient, expected);
        HeadMask.sums(saved.attention().output()); // this call may fail, and must do so before anything is written
    }

    private static void requireOnce(String name, @Nullable Tensor gradient, boolean same, String first) {
        if (gradient != null && same) {
            throw Checks.fail(
                    name, "given", "expected null, since the " + first + " was the same tensor and takes the sum");
        }
    }

    private void reads(String name, @Nullable Tensor tensor) {
        if (tensor != null) {
            tensors.reads(name, tensor, tensor.shape());
        }
    }

    private void writes(String name, @Nullable Tensor gradient, Tensor of) {
        if (gradient != null) {
            tensors.writes(name, gradient, of.shape());
        }
    }
}

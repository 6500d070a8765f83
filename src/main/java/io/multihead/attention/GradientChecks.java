package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.mask.MaskPart;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks the arguments of backward before anything is written. */
final class GradientChecks {
    private GradientChecks() {}

    static void require(Compute cpu, AttentionPass pass, AttentionOutputs upstream, AttentionGradients gradients) {
        AttentionChecks.requireInputs(pass.query(), pass.key(), pass.value());
        AttentionChecks.requireDims(pass.key().dim(3), pass.value().dim(3), AttentionBlocking.BACKWARD_MAX_DIM);
        requireOptions(pass.options().scores(), pass.query().dim(1));
        Shape query = pass.query().shape();
        TensorChecks tensors = new TensorChecks(cpu)
                .readsAny("query", pass.query(), query)
                .readsAny("key", pass.key(), pass.key().shape())
                .readsAny("value", pass.value(), pass.value().shape());
        long[] output = {query.dim(0), query.dim(1), query.dim(2), pass.value().dim(3)};
        long[] weights = {query.dim(0), query.dim(1), query.dim(2), pass.key().dim(2)};
        outputs(tensors, pass.outputs(), "", output, weights);
        outputs(tensors, upstream, "Gradient", output, weights);
        if (upstream.weights() != null && pass.outputs().weights() == null) {
            throw Checks.fail("weightsGradient", "given", "expected the weights too, as forward wrote them");
        }
        if (upstream.scores() != null) {
            throw Checks.fail("scoresGradient", "given", "expected none: backward takes no gradient of scores");
        }
        List<Tensor> masks = pass.options().mask().tensors();
        for (int i = 0; i < masks.size(); i++) {
            tensors.readsAny("mask " + i, masks.get(i), masks.get(i).shape());
        }
        writes(tensors, "query gradient", gradients.query(), query);
        writes(tensors, "key gradient", gradients.key(), pass.key().shape());
        writes(tensors, "value gradient", gradients.value(), pass.value().shape());
        bias(tensors, gradients.bias(), pass.options().mask());
        if (gradients.sinks() != null && pass.options().scores().sharedSinks() == null) {
            throw Checks.fail("sinks gradient", "given", "expected options with sinks, as forward had none");
        }
        writes(tensors, "sinks gradient", gradients.sinks(), Shape.of(query.dim(1)));
    }

    private static void requireOptions(ScoreOptions scores, long heads) {
        scores.requireHeads(heads);
        if (scores.modifier() != null) {
            throw Checks.fail("modifier", "given", "expected none, as backward does not know its derivative");
        }
    }

    private static void outputs(
            TensorChecks tensors, AttentionOutputs outputs, String suffix, long[] output, long[] weights) {
        tensors.readsAny("output" + suffix, outputs.output(), Shape.of(output));
        if (outputs.logSumExp() != null) {
            tensors.reads("logSumExp" + suffix, outputs.logSumExp(), Shape.of(Arrays.copyOf(output, 3)));
        }
        if (outputs.weights() != null) {
            tensors.readsAny("weights" + suffix, outputs.weights(), Shape.of(weights));
        }
    }

    private static void writes(TensorChecks tensors, String name, @Nullable Tensor gradient, Shape expected) {
        if (gradient != null) {
            tensors.writes(name, gradient, expected);
        }
    }

    private static void bias(TensorChecks tensors, @Nullable Tensor gradient, Mask mask) {
        if (gradient == null) {
            return;
        }
        List<Shape> shapes = mask.parts().stream()
                .filter(MaskPart.Bias.class::isInstance)
                .map(part -> ((MaskPart.Bias) part).tensor().shape())
                .toList();
        if (!shapes.contains(gradient.shape())) {
            throw Checks.fail(
                    "bias gradient",
                    "shape " + gradient.shape(),
                    "expected the shape of a bias of the mask, one of " + shapes);
        }
        tensors.writes("bias gradient", gradient, gradient.shape());
    }
}

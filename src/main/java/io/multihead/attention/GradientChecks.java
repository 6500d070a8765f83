package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.attention.MemoryChecks;
import io.multihead.internal.attention.mask.MaskPart;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks of the arguments of backward, made before anything is written. */
final class GradientChecks {
    private GradientChecks() {}

    static void require(Compute cpu, AttentionPass pass, AttentionOutputs upstream, AttentionGradients gradients) {
        AttentionChecks.requireInputs(cpu, pass.query(), pass.key(), pass.value());
        requireOptions(pass.options());
        Map<String, Tensor> read = new LinkedHashMap<>();
        read.put("query", pass.query());
        read.put("key", pass.key());
        read.put("value", pass.value());
        Shape query = pass.query().shape();
        long[] output = {query.dim(0), query.dim(1), query.dim(2), pass.value().dim(3)};
        long[] weights = {query.dim(0), query.dim(1), query.dim(2), pass.key().dim(2)};
        outputs(read, pass.outputs(), "", output, weights);
        outputs(read, upstream, "Gradient", output, weights);
        if (upstream.weights() != null && pass.outputs().weights() == null) {
            throw Checks.fail("weightsGradient", "given", "expected the weights too, as forward wrote them");
        }
        for (MaskPart part : pass.options().mask().parts()) {
            if (part.tensor() != null) {
                read.put("mask " + read.size(), part.tensor());
            }
        }
        read.forEach((name, tensor) -> MemoryChecks.requireAccess(cpu, tensor, name));
        Map<String, Tensor> written = new LinkedHashMap<>();
        put(written, "query gradient", gradients.query(), query);
        put(written, "key gradient", gradients.key(), pass.key().shape());
        put(written, "value gradient", gradients.value(), pass.value().shape());
        putBias(written, gradients.bias(), pass.options().mask());
        requireWritable(cpu, read, written);
    }

    private static void requireOptions(AttentionOptions options) {
        if (!options.scores().isNone()) {
            throw Checks.fail(
                    "options", options.scores().toString(), "expected no score options, which backward lacks");
        }
        for (MaskPart part : options.mask().parts()) {
            if (part.kind() == MaskPart.Kind.WINDOW || part.kind() == MaskPart.Kind.BLOCKS) {
                throw Checks.fail(
                        "mask", part.kind().toString(), "expected no window and no blocks, which backward lacks");
            }
        }
    }

    private static void outputs(
            Map<String, Tensor> read, AttentionOutputs outputs, String suffix, long[] output, long[] weights) {
        put(read, "output" + suffix, outputs.output(), Shape.of(output));
        put(read, "logSumExp" + suffix, outputs.logSumExp(), Shape.of(Arrays.copyOf(output, 3)));
        if (outputs.logSumExp() != null) {
            MemoryChecks.requireFloating(outputs.logSumExp(), "logSumExp" + suffix);
        }
        put(read, "weights" + suffix, outputs.weights(), Shape.of(weights));
    }

    private static void put(Map<String, Tensor> tensors, String name, @Nullable Tensor tensor, Shape expected) {
        if (tensor != null) {
            if (!tensor.shape().equals(expected)) {
                throw Checks.fail(name, "shape " + tensor.shape(), "expected " + expected);
            }
            tensors.put(name, tensor);
        }
    }

    private static void putBias(Map<String, Tensor> written, @Nullable Tensor gradient, Mask mask) {
        if (gradient == null) {
            return;
        }
        List<Shape> shapes = mask.parts().stream()
                .filter(part -> part.kind() == MaskPart.Kind.BIAS)
                .map(part -> Checks.notNull(part.tensor(), "bias").shape())
                .toList();
        if (!shapes.contains(gradient.shape())) {
            throw Checks.fail(
                    "bias gradient", "shape " + gradient.shape(), "expected that of a bias of the mask, of " + shapes);
        }
        written.put("bias gradient", gradient);
    }

    private static void requireWritable(Compute cpu, Map<String, Tensor> read, Map<String, Tensor> written) {
        Map<String, Tensor> others = new LinkedHashMap<>(read);
        written.forEach((name, tensor) -> {
            MemoryChecks.requireWritable(cpu, tensor, name);
            others.forEach((other, held) -> MemoryChecks.requireApart(tensor, name, held, other));
            others.put(name, tensor);
        });
    }
}

package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.nn.Layer;
import io.multihead.nn.Pass;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Self-attention with one mask, head mask and division into sequences for every call. The head mask counts as a parameter,
 * {@code head_mask}, so that its gradient is available through enclosing layers.
 */
record SelfAttention(
        MultiHeadAttention attention,
        Mask mask,
        @Nullable Tensor headMask,
        @Nullable PackedSequences sequences) implements Layer {
    private static final String HEAD_MASK = "head_mask";

    private MultiHeadInputs inputs(Tensor x) {
        MultiHeadInputs inputs = MultiHeadInputs.of(x).withMask(mask);
        inputs = headMask == null ? inputs : inputs.withHeadMask(headMask);
        return sequences == null ? inputs : inputs.withSequences(sequences);
    }

    @Override
    public Map<String, Tensor> parameters() {
        if (headMask == null) {
            return attention.parameters();
        }
        Map<String, Tensor> all = new LinkedHashMap<>(attention.parameters());
        all.put(HEAD_MASK, headMask);
        return Collections.unmodifiableMap(all);
    }

    @Override
    public List<Tensor> buffers() {
        return attention.config().options().mask().and(mask).tensors();
    }

    @Override
    public Shape outputShape(Shape input) {
        return attention.outputShape(input);
    }

    @Override
    public int independentAxes(Shape input) {
        Checks.notNull(input, "input");
        boolean shared = mask.isSharedByBatch() && (headMask == null || headMask.rank() == 1);
        return shared && sequences == null ? attention.independentAxes(input) : 0;
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        attention.forward(cpu, inputs(x), MultiHeadOutputs.of(y));
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        BackwardChecks.requireDerivative(attention.config());
        MultiHeadPass pass = attention.record(cpu, inputs(x), MultiHeadOutputs.of(y), seed);
        return headMask == null ? pass : new WithHeadMask(cpu, pass, headMask.shape());
    }

    @Override
    public void parametersChanged() {
        attention.parametersChanged();
    }

    /** Adds the head mask's gradient, in the same way as the gradients of parameters. */
    private record WithHeadMask(Compute cpu, MultiHeadPass pass, Shape shape) implements Pass {
        @Override
        public void backward(Tensor outputGradient, @Nullable Tensor inputGradient, Map<String, Tensor> gradients) {
            Tensor wanted = gradients.get(HEAD_MASK);
            MultiHeadGradients to = MultiHeadGradients.of(inputGradient);
            if (wanted == null) {
                pass.backward(outputGradient, to, gradients);
                return;
            }
            new TensorChecks(cpu).writes("gradient of " + HEAD_MASK, wanted, shape);
            try (TensorArena arena = TensorArena.ofCall(cpu)) {
                Tensor fresh = arena.f32(shape.toArray());
                pass.backward(outputGradient, to.withHeadMask(fresh), gradients);
                TensorMath.add(cpu, wanted, fresh, wanted);
            }
        }

        @Override
        public void close() {
            pass.close();
        }
    }
}

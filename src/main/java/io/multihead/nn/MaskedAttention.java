package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Self-attention of a layer with masks for every call. A head mask counts as a parameter, {@code head_mask}, so that its
 * gradient can be asked for through any layers around.
 */
record MaskedAttention(MultiHeadAttention attention, MultiHeadMasks masks) implements Layer {
    private static final String HEAD_MASK = "head_mask";

    @Override
    public Map<String, Tensor> parameters() {
        if (masks.headMask() == null) {
            return attention.parameters();
        }
        Map<String, Tensor> all = new LinkedHashMap<>(attention.parameters());
        all.put(HEAD_MASK, masks.headMask());
        return Collections.unmodifiableMap(all);
    }

    @Override
    public Shape outputShape(Shape input) {
        return attention.outputShape(input);
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        attention.forward(cpu, new MultiHeadInputs(x, x, x, masks), MultiHeadOutputs.of(y));
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        MultiHeadPass pass = attention.record(cpu, new MultiHeadInputs(x, x, x, masks), MultiHeadOutputs.of(y), seed);
        return masks.headMask() == null
                ? pass
                : new WithHeadMask(pass, masks.headMask().shape());
    }

    @Override
    public void parametersChanged() {
        attention.parametersChanged();
    }

    /** Adds the head mask's gradient, as those of parameters are added. */
    private record WithHeadMask(MultiHeadPass pass, Shape shape) implements Pass {
        @Override
        public void backward(Tensor outputGradient, @Nullable Tensor inputGradient, Map<String, Tensor> gradients) {
            Tensor wanted = gradients.get(HEAD_MASK);
            MultiHeadGradients to = MultiHeadGradients.of(inputGradient);
            if (wanted == null) {
                pass.backward(outputGradient, to, gradients);
                return;
            }
            new CallTensors(pass.cpu()).writes("gradient of " + HEAD_MASK, wanted, shape);
            try (Temporaries temporaries = Temporaries.ofCall(pass.cpu())) {
                Tensor fresh = temporaries.f32(shape.toArray());
                pass.backward(outputGradient, to.withHeadMask(fresh), gradients);
                Residual.sum(pass.cpu(), wanted.copy(java.lang.foreign.Arena.ofAuto(), wanted.dtype()), fresh, wanted);
            }
        }

        @Override
        public void close() {
            pass.close();
        }
    }
}

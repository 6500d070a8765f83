package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;

/** Self-attention of a layer with the masks of one call. */
record MaskedAttention(MultiHeadAttention attention, MultiHeadMasks masks) implements Layer {
    @Override
    public Map<String, Tensor> parameters() {
        return attention.parameters();
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
        return attention.record(cpu, new MultiHeadInputs(x, x, x, masks), MultiHeadOutputs.of(y), seed);
    }

    @Override
    public void parametersChanged() {
        attention.parametersChanged();
    }
}

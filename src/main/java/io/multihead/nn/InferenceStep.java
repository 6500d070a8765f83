package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * A layer of an inference, and the activation that follows it: the activation after a {@link Linear} is part of its product, so that the
 * elements between the two are never written to memory.
 */
record InferenceStep(Layer layer, Activation activation) {
    /** Returns the steps of consecutive layers. The results have the same bits as the layers' results. */
    static List<InferenceStep> of(List<Layer> layers) {
        List<InferenceStep> steps = new ArrayList<>();
        for (int i = 0; i < layers.size(); i++) {
            Layer layer = layers.get(i);
            boolean precedes = layer instanceof Linear && i + 1 < layers.size();
            Activation next = precedes ? activation(layers.get(i + 1)) : Activation.NONE;
            steps.add(new InferenceStep(layer, next));
            i += next == Activation.NONE ? 0 : 1;
        }
        return List.copyOf(steps);
    }

    private static Activation activation(Layer layer) {
        return layer instanceof ElementLayer elements ? elements.activation() : Activation.NONE;
    }

    void forward(Compute cpu, Tensor x, Tensor y) {
        if (layer instanceof Linear linear) {
            linear.forward(cpu, x, y, activation);
        } else {
            layer.forward(cpu, x, y);
        }
    }
}

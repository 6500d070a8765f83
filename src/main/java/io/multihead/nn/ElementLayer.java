package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How an activation treats every element alone: what {@link Gelu} and {@link Relu} have in common. */
final class ElementLayer {
    private final ElementCall.Function function;
    private final ElementCall.Function gradient;

    /** A layer of a function, and of what turns output gradients into input gradients. */
    ElementLayer(ElementCall.Function function, ElementCall.Function gradient) {
        this.function = function;
        this.gradient = gradient;
    }

    void forward(Layer layer, Compute cpu, Tensor x, Tensor y) {
        CallTensors.forward(cpu, layer, x, y);
        ElementCall.run(cpu, function, x, null, y);
    }

    Pass record(Layer layer, Compute cpu, Tensor x, Tensor y) {
        forward(layer, cpu, x, y);
        return new RecordedPass(layer, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                if (dx != null) {
                    ElementCall.run(cpu, gradient, dy, x, dx);
                }
            }
        };
    }
}

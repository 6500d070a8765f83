package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.nn.ElementwiseCall;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How an activation treats every element alone: what {@link Gelu} and {@link Relu} have in common. */
final class ElementLayer {
    private final ElementwiseCall.Function function;
    private final ElementwiseCall.Function gradient;

    /** A layer of a function, and of what turns output gradients into input gradients. */
    ElementLayer(ElementwiseCall.Function function, ElementwiseCall.Function gradient) {
        this.function = function;
        this.gradient = gradient;
    }

    void forward(Layer layer, Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, layer, x, y);
        ElementwiseCall.run(cpu, function, x, null, y);
    }

    Pass record(Layer layer, Compute cpu, Tensor x, Tensor y) {
        forward(layer, cpu, x, y);
        return new RecordedPass(layer, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                if (dx != null) {
                    ElementwiseCall.run(cpu, gradient, dy, x, dx);
                }
            }
        };
    }
}

package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.ElementwiseCall;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A function of each element separately, without parameters. */
abstract class ElementLayer implements Layer {
    private final Activation activation;
    private final ElementwiseCall.Function function;
    private final ElementwiseCall.Function gradient;

    /**
     * Creates a layer from a function, the same function as part of a product, and the function that converts output gradients to
     * input gradients.
     */
    ElementLayer(Activation activation, ElementwiseCall.Function function, ElementwiseCall.Function gradient) {
        this.activation = activation;
        this.function = function;
        this.gradient = gradient;
    }

    /** Returns the same function as part of a product. */
    final Activation activation() {
        return activation;
    }

    @Override
    public final Map<String, Tensor> parameters() {
        return Map.of();
    }

    @Override
    public final Shape outputShape(Shape input) {
        return Checks.notNull(input, "input");
    }

    @Override
    public final int independentAxes(Shape input) {
        return Checks.notNull(input, "input").rank();
    }

    @Override
    public final void forward(Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, x, y, Checks.notNull(x, "x").shape(), null, null);
        ElementwiseCall.run(cpu, function, x, null, y);
    }

    @Override
    public final Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        forward(cpu, x, y);
        return new Recorded(cpu, x, y);
    }

    /** A pass of this layer. */
    final class Recorded extends RecordedPass {
        private Recorded(Compute cpu, Tensor x, Tensor y) {
            super(ElementLayer.this, cpu, x, y);
        }

        @Override
        void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
            if (dx != null) {
                ElementwiseCall.run(cpu, gradient, dy, x, dx);
            }
        }

        /**
         * Replaces gradients with respect to the output by gradients with respect to the input, so that no other memory is needed.
         */
        void differentiateInPlace(Tensor upstream) {
            differentiate(upstream, upstream, Map.of());
        }
    }
}

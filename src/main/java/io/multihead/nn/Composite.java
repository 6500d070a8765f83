package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;

/** A layer that is another one under a name of its own. */
abstract class Composite implements Layer {
    private final Layer whole;

    Composite(Layer whole) {
        this.whole = whole;
    }

    /** What it is made of. */
    final Layer whole() {
        return whole;
    }

    @Override
    public final Map<String, Tensor> parameters() {
        return whole.parameters();
    }

    @Override
    public final Shape outputShape(Shape input) {
        return whole.outputShape(input);
    }

    @Override
    public final void forward(Compute cpu, Tensor x, Tensor y) {
        whole.forward(cpu, x, y);
    }

    @Override
    public final Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        return whole.record(cpu, x, y, seed);
    }

    @Override
    public final void parametersChanged() {
        whole.parametersChanged();
    }
}

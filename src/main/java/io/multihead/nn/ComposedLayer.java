package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.Map;

/**
 * A layer that contains another layer, such as a sequence. Methods that a subclass does not implement are delegated to the
 * inner layer.
 */
abstract class ComposedLayer implements Layer {
    final Layer inner;

    ComposedLayer(Layer inner) {
        this.inner = inner;
    }

    @Override
    public Map<String, Tensor> parameters() {
        return inner.parameters();
    }

    @Override
    public List<Tensor> buffers() {
        return inner.buffers();
    }

    @Override
    public Shape outputShape(Shape input) {
        return inner.outputShape(input);
    }

    @Override
    public int independentAxes(Shape input) {
        return inner.independentAxes(input);
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        inner.forward(cpu, x, y);
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        return inner.record(cpu, x, y, seed);
    }

    @Override
    public void parametersChanged() {
        inner.parametersChanged();
    }
}

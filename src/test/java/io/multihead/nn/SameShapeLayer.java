package io.multihead.nn;

import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;

/** A test layer without parameters. Its output has the shape of its input. */
abstract class SameShapeLayer implements Layer {
    @Override
    public Map<String, Tensor> parameters() {
        return Map.of();
    }

    @Override
    public Shape outputShape(Shape input) {
        return input;
    }
}

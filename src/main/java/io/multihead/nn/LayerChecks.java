package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Checks the tensors of a layer's call before anything is written. */
final class LayerChecks {
    private LayerChecks() {}

    /** Checks a forward call: the input and parameters it reads, and the output it writes. */
    static void forward(Compute cpu, Layer layer, Tensor x, Tensor y) {
        Checks.notNull(x, "x");
        new TensorChecks(cpu)
                .reads("x", x, x.shape())
                .reads(layer.parameters())
                .readsBuffers(layer.buffers())
                .writes("y", y, layer.outputShape(x.shape()));
    }

    /**
     * Checks a forward call of a layer that has no buffers and at most a weight and a bias. The checks are the same as in the other
     * method, but allocate nothing. The parameters' element types and shapes were checked when the layer was made.
     */
    static void forward(Compute cpu, Tensor x, Tensor y, Shape output, @Nullable Tensor weight, @Nullable Tensor bias) {
        TensorChecks.requireFloating(x, "x");
        TensorChecks.requireAccess(cpu, x, "x");
        requireAccess(cpu, weight, "weight");
        requireAccess(cpu, bias, "bias");
        TensorChecks.requireFloating(y, "y");
        TensorChecks.requireShape(y, "y", output);
        TensorChecks.requireWritable(cpu, y, "y");
        TensorChecks.requireApart(y, "y", x, "x");
        TensorChecks.requireApart(y, "y", weight, "weight");
        TensorChecks.requireApart(y, "y", bias, "bias");
    }

    private static void requireAccess(Compute cpu, @Nullable Tensor tensor, String name) {
        if (tensor != null) {
            TensorChecks.requireAccess(cpu, tensor, name);
        }
    }
}

package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.Execution;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A pass that remembers the tensors of its forward call, and compares the tensors of backward with them. */
abstract class RecordedPass implements Pass {
    final Compute cpu;
    final Tensor x;
    final Tensor y;
    private final Layer layer;
    private boolean closed;

    RecordedPass(Layer layer, Compute cpu, Tensor x, Tensor y) {
        this.layer = layer;
        this.cpu = cpu;
        this.x = x;
        this.y = y;
    }

    /** Computes the gradients; everything has been checked. */
    abstract void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients);

    @Override
    @SuppressWarnings("try") // the call ends with the block
    public final void backward(Tensor outputGradient, @Nullable Tensor inputGradient, Map<String, Tensor> gradients) {
        if (closed) {
            throw new IllegalStateException("pass: closed; expected an open pass");
        }
        TensorChecks tensors = new TensorChecks(cpu)
                .reads("x", x, x.shape())
                .reads("y", y, y.shape())
                .reads(layer.parameters())
                .readsBuffers(layer.buffers())
                .reads("outputGradient", outputGradient, y.shape());
        if (inputGradient != null) {
            tensors.writes("inputGradient", inputGradient, x.shape());
        }
        tensors.writesGradients(layer.parameters(), gradients);
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            differentiate(outputGradient, inputGradient, gradients);
        }
    }

    /** Closes the parts of this pass. */
    void release() {
        // a pass of one layer keeps nothing that must be closed
    }

    @Override
    public final void close() {
        if (!closed) {
            closed = true;
            release();
        }
    }
}

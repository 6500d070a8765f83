package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * {@code y = x + f(x)} (He et al. 2016) for a layer f that keeps the shape. Its parameters are the parameters of f. It is thread-safe if
 * f is.
 */
public final class Residual extends ComposedLayer {
    private Residual(Layer inner) {
        super(inner);
    }

    /**
     * {@return the layer that adds its input to another layer's output}
     *
     * @param inner a layer whose output has its input's shape
     */
    public static Residual of(Layer inner) {
        return new Residual(Checks.notNull(inner, "inner"));
    }

    @Override
    public Shape outputShape(Shape input) {
        Shape output = inner.outputShape(Checks.notNull(input, "input"));
        if (!output.equals(input)) {
            throw Checks.fail(
                    "x", "shape " + input, "expected a shape that the layer does not change; its output is " + output);
        }
        return output;
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, this, x, y);
        try (TensorArena arena = TensorArena.ofCall(cpu)) {
            Tensor change = arena.f32(x.shape().toArray());
            inner.forward(cpu, x, change);
            TensorMath.add(cpu, x, change, y);
        }
    }

    @Override
    @SuppressWarnings("try") // the call ends with the block
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        LayerChecks.forward(cpu, this, x, y);
        TensorArena kept = new TensorArena(cpu);
        Tensor change = kept.f32(x.shape().toArray());
        Pass pass;
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            pass = inner.record(cpu, x, change, seed);
            TensorMath.add(cpu, x, change, y);
        }
        return new RecordedPass(this, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                try (TensorArena arena = new TensorArena(cpu)) {
                    boolean rounds = dx != null && dx.dtype() != DType.F32; // the sum is rounded once
                    Tensor through = rounds ? arena.f32(x.shape().toArray()) : dx;
                    pass.backward(dy, through, gradients);
                    if (dx != null && through != null) {
                        TensorMath.add(cpu, through, dy, dx);
                    }
                }
            }

            @Override
            void release() {
                pass.close();
                kept.close();
            }
        };
    }
}

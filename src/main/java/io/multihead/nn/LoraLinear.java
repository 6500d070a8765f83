package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A linear layer with a low-rank adapter (Hu et al. 2022, "LoRA"): {@code y = f(x) + scale B (A x)}. If f has packed weights, in f32 or
 * quantized (Dettmers et al. 2023, "QLoRA"), it is frozen and takes only the memory of its panels. The trained parameters are {@code
 * lora_A.weight} and {@code lora_B.weight}. A bias of f is {@code base_layer.bias}, as in PEFT.
 *
 * <p>The input has one axis or more. Sums are f32. Results have the same bits for any number of threads. Thread safety is as
 * documented in {@link Layer}.
 */
public final class LoraLinear extends ComposedLayer {
    private static final String BASE = "base_layer.";
    private static final String A = "lora_A.";
    private static final String B = "lora_B.";

    private final Linear base;
    private final Linear down;
    private final Linear up;
    private final double scale;

    /** The inner layer is a sequence of all three layers, which defines the names of parameters and computes nothing. */
    private LoraLinear(Linear base, Linear down, Linear up, double scale) {
        super(Sequence.of(new Part(BASE, base), new Part(A, down), new Part(B, up)));
        this.base = base;
        this.down = down;
        this.up = up;
        this.scale = scale;
    }

    /**
     * Returns a layer with an adapter.
     *
     * @param base the layer f
     * @param a {@code [rank, inputs]}, any floating-point type and strides
     * @param b {@code [outputs, rank]}
     * @param scale the factor of B A, finite in f32: alpha / rank
     * @return the layer, which reads the tensors and owns none
     * @throws IllegalArgumentException if a shape or element type does not fit, or the factor is not finite
     */
    public static LoraLinear of(Linear base, Tensor a, Tensor b, double scale) {
        long rank = Checks.notNull(a, "a").rank() == 2 ? a.dim(0) : 1;
        Shape ofA = Shape.of(rank, Checks.notNull(base, "base").inputs());
        Linear down = Linear.of(TensorChecks.requireParameter(a, "a", ofA), null);
        Linear up = Linear.of(TensorChecks.requireParameter(b, "b", Shape.of(base.outputs(), rank)), null);
        if (!Float.isFinite((float) scale)) {
            throw Checks.fail("scale", String.valueOf(scale), "expected a finite f32");
        }
        return new LoraLinear(base, down, up, scale);
    }

    @Override
    public Shape outputShape(Shape input) {
        return base.outputShape(input);
    }

    @Override
    public int independentAxes(Shape input) {
        return base.independentAxes(input);
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, this, x, y);
        try (TensorArena arena = TensorArena.ofCall(cpu)) {
            Tensor low = arena.f32(down.outputShape(x.shape()).toArray());
            Tensor own = wide(arena, y);
            Tensor change = arena.f32(y.shape().toArray());
            down.forward(cpu, x, low);
            TensorMath.scale(cpu, low, scale, low);
            up.forward(cpu, low, change);
            base.forward(cpu, x, own);
            TensorMath.add(cpu, own, change, y);
        }
    }

    /** Returns a tensor for the output of the layer f: the sum with the adapter's output is rounded once. */
    private static Tensor wide(TensorArena arena, Tensor y) {
        return y.dtype() == DType.F32 ? y : arena.f32(y.shape().toArray());
    }

    @Override
    @SuppressWarnings("try") // the call ends with the block
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        LayerChecks.forward(cpu, this, x, y);
        TensorArena kept = new TensorArena(cpu);
        Tensor low = kept.f32(down.outputShape(x.shape()).toArray());
        Tensor own = wide(kept, y);
        Tensor change = kept.f32(y.shape().toArray());
        Pass downPass;
        Pass upPass;
        Pass basePass;
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            downPass = down.record(cpu, x, low);
            TensorMath.scale(cpu, low, scale, low);
            upPass = up.record(cpu, low, change);
            basePass = base.record(cpu, x, own);
            TensorMath.add(cpu, own, change, y);
        }
        return new RecordedPass(this, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                try (TensorArena arena = new TensorArena(cpu)) {
                    Tensor ofLow = arena.f32(low.shape().toArray());
                    Tensor through = dx == null ? null : arena.f32(x.shape().toArray());
                    Tensor direct = dx == null ? null : arena.f32(x.shape().toArray());
                    upPass.backward(dy, ofLow, Gradients.under(B, gradients));
                    TensorMath.scale(cpu, ofLow, scale, ofLow);
                    downPass.backward(ofLow, through, Gradients.under(A, gradients));
                    basePass.backward(dy, direct, Gradients.under(BASE, gradients));
                    if (dx != null && through != null && direct != null) {
                        TensorMath.add(cpu, direct, through, dx);
                    }
                }
            }

            @Override
            void release() {
                downPass.close();
                upPass.close();
                basePass.close();
                kept.close();
            }
        };
    }
}

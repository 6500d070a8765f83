package io.multihead.nn;

import static io.multihead.internal.nn.ElementwiseCall.padded;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.nn.ElementwiseCall;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The gated linear unit {@code f(gate(x)) up(x)} of two linear layers (Shazeer 2020, "GLU variants improve transformer"): SwiGLU with
 * {@link Silu}, GeGLU with {@link Gelu}. Its parameters are {@code gate_proj.*} and {@code up_proj.*}. Thread-safe in inference.
 */
public final class GatedLinear extends ComposedLayer {
    private static final String GATE = "gate_proj.";
    private static final String UP = "up_proj.";

    private final Sequence gate;
    private final Layer up;

    /** The inner layer is a sequence of both layers, which defines the names of parameters and computes nothing. */
    private GatedLinear(Layer gate, Layer function, Layer up) {
        super(Sequence.of(new Part(GATE, gate), new Part(UP, up)));
        this.gate = Sequence.of(new Part("", gate), new Part("", function));
        this.up = up;
    }

    /**
     * {@return the gated layer of two linear layers}
     *
     * @param gate the layer of the gate
     * @param function the function of the gate: a layer without parameters that keeps the shape, such as {@link Silu}
     * @param up the other layer, with the same inputs and outputs
     * @throws IllegalArgumentException if the layers differ in inputs or outputs, or the function has parameters
     */
    public static GatedLinear of(Linear gate, Layer function, Linear up) {
        // sizes do not come from parameters, since a layer of packed weights has none, or only a bias
        if (Checks.notNull(up, "up").inputs() != Checks.notNull(gate, "gate").inputs()
                || up.outputs() != gate.outputs()) {
            throw Checks.fail("up", "weight " + sizes(up), "expected " + sizes(gate) + ", as in gate");
        }
        return of((Layer) gate, function, up);
    }

    /**
     * {@return the gated layer of two layers of any kind, such as linear layers with adapters}
     *
     * @param gate the layer of the gate
     * @param function applied to the gate: a layer without parameters that keeps the shape
     * @param up the other layer, whose outputs have the shape of the gate's
     * @throws IllegalArgumentException if the function has parameters
     */
    public static GatedLinear of(Layer gate, Layer function, Layer up) {
        Checks.notNull(gate, "gate");
        Checks.notNull(up, "up");
        if (!Checks.notNull(function, "function").parameters().isEmpty()) {
            throw Checks.fail("function", function.parameters().keySet().toString(), "expected no parameters");
        }
        return new GatedLinear(gate, function, up);
    }

    private static Shape sizes(Linear layer) {
        return Shape.of(layer.outputs(), layer.inputs());
    }

    @Override
    public Shape outputShape(Shape input) {
        Shape output = up.outputShape(input);
        Shape ofGate = gate.outputShape(input);
        if (!output.equals(ofGate)) {
            throw Checks.fail("up", "output " + output, "expected " + ofGate + ", as in gate");
        }
        return output;
    }

    @Override
    public int independentAxes(Shape input) {
        return Math.min(up.independentAxes(input), gate.independentAxes(input));
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, this, x, y);
        try (TensorArena arena = TensorArena.ofCall(cpu)) {
            Tensor factor = arena.f32(y.shape().toArray());
            Tensor value = arena.f32(y.shape().toArray());
            gate.forward(cpu, x, factor);
            up.forward(cpu, x, value);
            multiply(cpu, value, factor, y);
        }
    }

    @Override
    @SuppressWarnings("try") // the call ends with the block
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        LayerChecks.forward(cpu, this, x, y);
        TensorArena kept = new TensorArena(cpu);
        Tensor factor = kept.f32(y.shape().toArray());
        Tensor value = kept.f32(y.shape().toArray());
        Pass gatePass;
        Pass upPass;
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            gatePass = gate.record(cpu, x, factor, seed);
            upPass = up.record(cpu, x, value, seed);
            multiply(cpu, value, factor, y);
        }
        return new RecordedPass(this, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                try (TensorArena arena = new TensorArena(cpu)) {
                    Tensor inner = arena.f32(y.shape().toArray());
                    Tensor through = dx == null ? null : arena.f32(x.shape().toArray());
                    multiply(cpu, dy, value, inner);
                    gatePass.backward(inner, through, Gradients.under(GATE, gradients));
                    multiply(cpu, dy, factor, inner);
                    upPass.backward(inner, dx, Gradients.under(UP, gradients));
                    if (dx != null && through != null) {
                        TensorMath.add(cpu, dx, through, dx);
                    }
                }
            }

            @Override
            void release() {
                gatePass.close();
                upPass.close();
                kept.close();
            }
        };
    }

    /** Computes {@code to = a b}, element by element. */
    private static void multiply(Compute cpu, Tensor a, Tensor b, Tensor to) {
        ElementwiseCall.run(
                cpu,
                (values, inputs, buffer, columns, first) -> RowOps.multiply(values, 0, padded(columns), inputs, 0),
                a,
                b,
                to);
    }
}

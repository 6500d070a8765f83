package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The feed-forward network of a trained block: {@code down(f(up(x)))} (Vaswani et al. 2017, section 3.3), or with a gate
 * {@code down(f(gate(x)) up(x))} (Shazeer 2020): SwiGLU with SiLU, GeGLU with GELU. Immutable and thread-safe.
 */
public final class FeedForward implements Part {
    private final LinearGroup up;
    private final PackedLinear down;
    private final Gate gate;
    private final FeedForwardLayout layout;
    /** The factors of a state's elements in the gate of a token; null without such a gate. */
    private final float @Nullable [] tokenGate;

    private FeedForward(LinearGroup up, PackedLinear down, Gate gate, float @Nullable [] tokenGate) {
        this.up = up;
        this.tokenGate = tokenGate;
        this.down = Checks.notNull(down, "down");
        this.gate = gate;
        layout = new FeedForwardLayout(up.outputs(0), up.size() == 2);
        PackedLinear.requireSizes(down, layout.inner(), up.inputs(), "down");
    }

    /**
     * {@return a network without a gate}
     *
     * @param up the first layer, with its activation ({@link PackedLinear#withActivation})
     * @param down the second layer
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static FeedForward of(PackedLinear up, PackedLinear down) {
        return new FeedForward(LinearGroup.of(up), down, Gate.of(Activation.NONE), null);
    }

    /**
     * {@return a network with a gate}
     *
     * @param activation the function of the gate
     * @param gateAndUp gate and up, in this order, with the same number of outputs
     * @param down the last layer
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static FeedForward gated(Activation activation, LinearGroup gateAndUp, PackedLinear down) {
        Checks.notNull(activation, "activation");
        if (Checks.notNull(gateAndUp, "gateAndUp").size() != 2 || gateAndUp.outputs(0) != gateAndUp.outputs(1)) {
            throw Checks.fail(
                    "gateAndUp",
                    gateAndUp.size() + " of " + gateAndUp.width() + " outputs in all",
                    "expected 2 with as many each");
        }
        return new FeedForward(gateAndUp, down, Gate.of(activation), null);
    }

    /**
     * {@return a network with the gate of GPT-OSS (OpenAI 2025): {@code down((up(x) + 1) g / (1 + e^(-slope g)))} with {@code g = gate(x)},
     * where g is limited to at most {@code limit}, and up to the range from {@code -limit} to {@code limit}}
     *
     * @param slope factor of the gate in the exponent, a finite number above 0: 1.702
     * @param limit a finite number above 0: 7
     * @param gateAndUp gate and up, in this order, with the same number of outputs
     * @param down the last layer
     * @throws IllegalArgumentException if sizes do not fit, or a number is out of its range
     */
    public static FeedForward clamped(double slope, double limit, LinearGroup gateAndUp, PackedLinear down) {
        requirePositive(slope, "slope");
        requirePositive(limit, "limit");
        FeedForward gated = gated(Activation.SILU, gateAndUp, down);
        return new FeedForward(gated.up, down, new Gate(Activation.SILU, (float) slope, (float) limit), null);
    }

    private static void requirePositive(double number, String argument) {
        float rounded = (float) number;
        if (!(rounded > 0 && rounded < Float.POSITIVE_INFINITY)) {
            throw Checks.fail(argument, String.valueOf(number), "expected a finite number above 0");
        }
    }

    /**
     * {@return this network with a gate for each token: its result is multiplied by {@code 1 / (1 + e^(-g x))}, as in the shared expert of Qwen
     * 2 and 3.5 (Qwen team 2024)}. The sum {@code g x} is computed in double.
     *
     * @param g {@code [dim]}, floating-point, copied
     * @throws IllegalArgumentException if it has another shape, or the last layer has a bias, which the gate would not multiply
     */
    public FeedForward withTokenGate(Tensor g) {
        TensorChecks.requireShape(g, "g", Shape.of(dim()));
        TensorChecks.requireFloating(g, "g");
        if (down.bias() != null) {
            throw Checks.fail("down", "a layer with a bias", "expected no bias, since the gate would not multiply it");
        }
        return new FeedForward(up, down, gate, g.toArray());
    }

    /** {@return the number of elements between the layers} */
    public int inner() {
        return layout.inner();
    }

    @Override
    public int dim() {
        return up.inputs();
    }

    /** {@return the function of the gate; none without a gate} */
    public Activation activation() {
        return gate.function();
    }

    Gate gate() {
        return gate;
    }

    FeedForwardLayout layout() {
        return layout;
    }

    boolean hasTokenGate() {
        return tokenGate != null;
    }

    /** Returns whether two networks differ only in weights, and not in sizes, products and the function of the gate. */
    boolean isLike(FeedForward other) {
        return dim() == other.dim()
                && layout.equals(other.layout)
                && gate.equals(other.gate)
                && up.layers().size() == other.up.layers().size();
    }

    /** Describes sizes, for messages. */
    @Override
    public String toString() {
        return "FeedForward[dim=" + dim() + ", inner=" + inner() + ", gated=" + layout.gated() + ", activation="
                + gate.function() + (gate.isClamped() ? ", " + gate : "")
                + (tokenGate == null ? "" : ", tokenGate") + ", products="
                + up.layers().size() + "]";
    }

    @Override
    public int scratch() {
        return layout.floats();
    }

    /** {@return the first layer, or gate and up} */
    public LinearGroup up() {
        return up;
    }

    /** {@return the last layer} */
    public PackedLinear down() {
        return down;
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        RowChecks.require(cpu, x, y, dim(), scratch(), buffers);
        int rows = (int) x.dim(0);
        FeedForwardLayout.Views views = buffers.wide(layout, rows);
        up.forward(cpu, x, views.all(), views.parts());
        if (layout.gated()) {
            buffers.gate.run(cpu, buffers.wide(), 0, layout, gate, rows);
        }
        if (tokenGate != null) {
            buffers.tokenGate.run(cpu, x, tokenGate, buffers.wide(), layout);
        }
        down.forward(cpu, views.hidden(), y, adds);
    }
}

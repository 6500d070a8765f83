package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * A gated convolution over the last few tokens (LFM2, Liquid AI 2025), which replaces attention in some layers: {@code out(c conv(b x))}
 * with {@code b, c, x = in(states)}, elementwise. Its state is the last inputs {@code b x} of a sequence, one fewer than there are taps.
 * Immutable and thread-safe.
 */
public final class ShortConvolution implements Part {
    private final PackedLinear in;
    private final PackedLinear out;
    private final Convolution convolution;
    private final LinearGroup projections;
    private final ShortConvolutionLayout layout;
    private final List<StateSizes> states;

    private ShortConvolution(PackedLinear in, Convolution convolution, PackedLinear out) {
        this.in = in;
        this.out = out;
        this.convolution = convolution;
        projections = LinearGroup.of(in);
        layout = new ShortConvolutionLayout(out.inputs());
        states = List.of(convolution.state());
    }

    /**
     * Returns a convolution.
     *
     * @param in {@code dim} inputs and {@code 3 dim} outputs: the gates b of inputs, the gates c of results, and the inputs x
     * @param taps {@code [dim, taps]}, any strides and floating-point type, copied; at least two, the factor of the token itself last, as
     *     {@code torch.nn.Conv1d} stores them
     * @param out {@code dim} inputs and outputs
     * @return the part
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static ShortConvolution of(PackedLinear in, Tensor taps, PackedLinear out) {
        int dim = Checks.notNull(in, "in").inputs();
        if (in.outputs() != 3L * dim) {
            throw Checks.fail("in", in.outputs() + " outputs", "expected " + 3L * dim + ", three for each input");
        }
        Convolution convolution = new Convolution(taps, dim);
        PackedLinear.requireSizes(out, dim, dim, "out");
        return new ShortConvolution(in, convolution, out);
    }

    @Override
    public int dim() {
        return in.inputs();
    }

    /** {@return the number of tokens on which a result depends, including the token itself} */
    public int taps() {
        return convolution.taps;
    }

    /** {@return the first layer} */
    public PackedLinear in() {
        return in;
    }

    /** {@return the last layer} */
    public PackedLinear out() {
        return out;
    }

    @Override
    public int scratch() {
        return layout.floats();
    }

    @Override
    public List<StateSizes> states() {
        return states;
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        TokenBatch batch = RowChecks.requireBatch(cpu, x, y, dim(), scratch(), buffers);
        ShortConvolutionLayout.Views views = buffers.wide(layout, batch.tokens());
        projections.forward(cpu, x, views.all(), views.parts());
        buffers.convolution
                .rows(buffers.wide(), 2 * dim(), layout.floats())
                .gated(0, dim())
                .run(cpu, convolution, batch, buffers.takeStates());
        out.forward(cpu, views.result(), y, adds);
    }
}

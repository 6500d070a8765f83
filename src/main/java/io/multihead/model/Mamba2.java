package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * Mamba-2 (Dao, Gu 2024, "Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured State Space Duality"), which
 * replaces attention in layers of Granite 4. Its time and memory for a token do not grow with the sequence.
 *
 * <p>A projection computes gates z, inputs x, b, c, and one value for each head. The inputs x, b and c pass a causal convolution over a few
 * tokens with SiLU. Each head has a state S, {@code [stateDim, headDim]}: {@code S = a S + b (r x)^T} and {@code y = S^T c + d x}, where the
 * rate r is the softplus of the sum of the head's value and its bias, and {@link LinearDecay} computes the decay a. The results are multiplied
 * by {@code silu(z)}, normalized and projected.
 *
 * <p>Tokens are computed sequentially, and heads and columns of states in parallel, so that the bits do not depend on the division of a
 * sequence into calls. The states of a sequence are the last inputs of the convolution, and S of all heads. Immutable and thread-safe.
 */
public final class Mamba2 implements Part {
    private final LinearGroup projections;
    private final PackedLinear output;
    private final Convolution convolution;
    private final Mamba2Rules rules;
    private final List<StateSizes> states;

    private Mamba2(LinearGroup projections, Convolution convolution, Mamba2Rules rules, PackedLinear output) {
        this.projections = projections;
        this.output = output;
        this.convolution = convolution;
        this.rules = rules;
        states = List.of(convolution.state(), rules.layout().of().state());
    }

    /**
     * Returns a layer without skips and biases of the convolution.
     *
     * @param heads numbers and sizes of heads
     * @param projections three projections of the states, as one ({@link LinearGroup#concatenated}) or separate: the gates z, {@code heads
     *     headDim} outputs; x, all b and all c, {@code heads headDim + 2 groups stateDim}; and the inputs of the rates, {@code heads}
     * @param taps {@code [heads headDim + 2 groups stateDim, taps]}, any strides and floating-point type, copied; at least two, the factor
     *     of the token itself last, as {@code torch.nn.Conv1d} stores them
     * @param decay the decay of each of the {@code heads} heads
     * @param norm the norm of a token's gated results, with {@code heads headDim} elements
     * @param output {@code heads headDim} inputs, and as many outputs as the projections have
     *     inputs
     * @return the part
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Mamba2 of(
            Mamba2Heads heads,
            LinearGroup projections,
            Tensor taps,
            LinearDecay decay,
            Norm norm,
            PackedLinear output) {
        int channels = Checks.notNull(heads, "heads").channels();
        int width = heads.width();
        LinearGroup.requireOutputs(projections, width, channels, heads.heads());
        Convolution convolution = new Convolution(taps, channels);
        Checks.length(Checks.notNull(decay, "decay").heads(), heads.heads(), "decay", "one per head");
        Checks.length(Checks.notNull(norm, "norm").dim(), width, "norm", "one per element of all heads");
        PackedLinear.requireSizes(output, width, projections.inputs(), "output");
        return new Mamba2(projections, convolution, Mamba2Rules.of(heads, decay, norm.row()), output);
    }

    /**
     * {@return this layer with biases of its convolution}
     *
     * @param bias a number that is added to each channel's sum, {@code [heads headDim + 2 groups stateDim]}, any strides and floating-point
     * type, copied
     * @throws IllegalArgumentException if the number of biases differs from the number of channels
     */
    public Mamba2 withConvolutionBias(Tensor bias) {
        return new Mamba2(projections, convolution.withBias(bias), rules, output);
    }

    /**
     * {@return this layer with skips}
     *
     * @param factors d, the factor of x in the results of each head, {@code [heads]}, any strides and floating-point type, copied
     * @throws IllegalArgumentException if the number of factors differs from the number of heads
     */
    public Mamba2 withSkip(Tensor factors) {
        TensorChecks.requireShape(factors, "factors", Shape.of(heads().heads()));
        return new Mamba2(projections, convolution, rules.withSkip(factors.toArray()), output);
    }

    /**
     * {@return this layer with results that are normalized in equal parts, each with the root mean square of its elements}. GGUF files and
     * the authors' models have one part for each group. Models of Hugging Face's transformers have a single part.
     *
     * @param parts number of parts, a divisor of {@code heads headDim}
     * @throws IllegalArgumentException if the elements cannot be divided
     */
    public Mamba2 withNormParts(int parts) {
        int width = heads().width();
        if (parts < 1 || width % parts != 0) {
            throw Checks.fail("parts", String.valueOf(parts), "expected a divisor of " + width);
        }
        return new Mamba2(projections, convolution, rules.withNormParts(parts), output);
    }

    /** {@return numbers and sizes of heads} */
    public Mamba2Heads heads() {
        return rules.layout().of();
    }

    /** {@return the three projections} */
    public LinearGroup projections() {
        return projections;
    }

    /** {@return the output projection} */
    public PackedLinear output() {
        return output;
    }

    @Override
    public int dim() {
        return projections.inputs();
    }

    @Override
    public int scratch() {
        return rules.layout().floats();
    }

    @Override
    public List<StateSizes> states() {
        return states;
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        TokenBatch batch = RowChecks.requireBatch(cpu, x, y, dim(), scratch(), buffers);
        Mamba2Layout.Views views = buffers.wide(rules.layout(), batch.tokens());
        projections.forward(cpu, x, views.projections(), views.parts());
        float[] rows = buffers.wide();
        buffers.convolution
                .rows(rows, rules.layout().valuesAt(), rules.layout().stride())
                .withSilu()
                .run(cpu, convolution, batch, buffers.takeStates());
        buffers.mamba.run(cpu, rules, rows, batch, buffers.takeStates());
        output.forward(cpu, views.context(), y, adds);
    }
}

package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.RowNorm;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/**
 * Linear attention with the gated delta rule (Yang et al. 2025, "Gated Delta Networks"), which replaces softmax attention in layers of
 * Qwen3-Next and Qwen 3.5. Its time and memory for a token do not grow with the sequence.
 *
 * <p>Queries, keys and values pass a causal convolution over a few tokens with SiLU; queries and keys are divided by their lengths, and queries
 * by {@code sqrt(keyDim)}, too. Each value head has a state S, {@code [keyDim, valueDim]}: {@code S = a S + k d} with {@code d = b (v - a S^T k)}
 * and {@code o = S^T q}, where {@link LinearDecay} computes the decay a, and the rate b is a sigmoid. The results are normalized by the root mean
 * square, multiplied by {@code silu(z)} and projected.
 *
 * <p>Tokens are computed sequentially, and heads and columns of states in parallel, so the bits do not depend on the division of a
 * sequence into calls. The states of a sequence are the last inputs of the convolution, and S of all heads. Immutable and thread-safe.
 */
public final class GatedLinearAttention implements Part {
    /** Added to the square of the length of queries and keys, as in transformers' models. */
    private static final double EPSILON = 1e-6;

    private final LinearGroup projections;
    private final PackedLinear output;
    private final Convolution convolution;
    private final LinearAttentionRules rules;
    private final List<StateSizes> states;

    private GatedLinearAttention(
            LinearHeads heads,
            LinearGroup projections,
            Convolution convolution,
            LinearDecay decay,
            Norm norm,
            PackedLinear output) {
        this.projections = projections;
        this.output = output;
        this.convolution = convolution;
        double length = Math.sqrt(heads.keyDim());
        rules = new LinearAttentionRules(
                new LinearAttentionLayout(heads),
                decay,
                length(heads.keyDim(), (float) (1 / (length * length))),
                length(heads.keyDim(), (float) (1 / length)),
                norm.row());
        states = List.of(convolution.state(), heads.state());
    }

    /** Returns the division by the length: {@code x / sqrt(mean(x^2) + epsilon / n) / sqrt(n)}, times a factor. */
    private static RowNorm length(int dim, float weight) {
        float[] weights = new float[PartLayout.stride(dim)];
        Arrays.fill(weights, 0, dim, weight);
        return new RowNorm(dim, false, EPSILON / dim, weights, new float[weights.length]);
    }

    /**
     * Returns linear attention.
     *
     * @param heads numbers and sizes of heads
     * @param projections four projections of the states: queries, keys and values as one projection with {@code 2 keyHeads keyDim + valueHeads
     *     valueDim} outputs; the gates z, {@code valueHeads valueDim}; the inputs of the sigmoids for the rates b, {@code valueHeads}; and the
     *     inputs of the decays, {@code valueHeads}
     * @param taps {@code [2 keyHeads keyDim + valueHeads valueDim, taps]}, any strides and floating-point type, copied; at least two, the
     *     factor of the token itself last, as {@code torch.nn.Conv1d} stores them
     * @param decay the decay of each of the {@code valueHeads} heads
     * @param norm a norm of {@code valueDim} elements, applied to each head's results
     * @param output {@code valueHeads valueDim} inputs, and as many outputs as the projections have
     *     inputs
     * @return the part
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static GatedLinearAttention of(
            LinearHeads heads,
            LinearGroup projections,
            Tensor taps,
            LinearDecay decay,
            Norm norm,
            PackedLinear output) {
        int channels = Checks.notNull(heads, "heads").channels();
        int width = heads.valueWidth();
        LinearGroup.requireOutputs(projections, channels, width, heads.valueHeads(), heads.valueHeads());
        Convolution convolution = new Convolution(taps, channels);
        Checks.length(Checks.notNull(decay, "decay").heads(), heads.valueHeads(), "decay", "one per value head");
        Checks.length(Checks.notNull(norm, "norm").dim(), heads.valueDim(), "norm", "one per element of a value");
        PackedLinear.requireSizes(output, width, projections.inputs(), "output");
        return new GatedLinearAttention(heads, projections, convolution, decay, norm, output);
    }

    /** {@return numbers and sizes of heads} */
    public LinearHeads heads() {
        return rules.heads();
    }

    /** {@return the four projections} */
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
        LinearAttentionLayout.Views views = buffers.wide(rules.layout(), batch.tokens());
        projections.forward(cpu, x, views.projections(), views.parts());
        float[] rows = buffers.wide();
        buffers.convolution
                .rows(rows, 0, rules.layout().stride())
                .withSilu()
                .run(cpu, convolution, batch, buffers.takeStates());
        buffers.linearAttention.run(cpu, rules, rows, batch, buffers.takeStates());
        output.forward(cpu, views.context(), y, adds);
    }
}

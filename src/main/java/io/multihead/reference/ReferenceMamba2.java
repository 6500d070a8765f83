package io.multihead.reference;

import io.multihead.internal.base.Checks;
import java.util.Arrays;
import java.util.List;

/**
 * Mamba-2 as plain loops in {@code double}, for one sequence (Dao, Gu 2024): one projection, a causal convolution with SiLU,
 * {@link ReferenceStateSpace}, the norms of {@code y silu(z)}, and the output projection.
 *
 * @param projection the gates z, x of all heads, b of all groups, c of all groups, and the inputs of the heads' rates
 * @param taps {@code [channels, taps]} of the convolution of x, b and c
 * @param biases a number for each channel, added to its sums
 * @param heads numbers of heads
 * @param norms norms of equal parts of a token's gated results, one after another
 * @param output the output projection
 */
@SuppressWarnings("ArrayRecordComponent")
public record ReferenceMamba2(
        ReferenceTransformer.Linear projection,
        double[] taps,
        double[] biases,
        Heads heads,
        List<ReferenceTransformer.Norm> norms,
        ReferenceTransformer.Linear output)
        implements ReferenceTransformer.Part {

    /**
     * Numbers of heads.
     *
     * @param groups number of groups of heads, each with its own b and c
     * @param slopes slopes of the decays, {@code -exp(A_log)}, one for each head
     * @param biases biases of the rates, one for each head
     * @param skips factors of x in the results, one for each head
     */
    public record Heads(int groups, double[] slopes, double[] biases, double[] skips) {
        /** Checks the numbers. */
        public Heads {
            Checks.atLeast(groups, 1, "groups");
            int heads = Checks.notNull(slopes, "slopes").length;
            if (heads < 1 || heads % groups != 0) {
                throw Checks.fail("slopes", heads + " of them", "expected a multiple of " + groups);
            }
            Checks.length(Checks.notNull(biases, "biases").length, heads, "biases", "one per head");
            Checks.length(Checks.notNull(skips, "skips").length, heads, "skips", "one per head");
        }

        int count() {
            return slopes.length;
        }
    }

    /** Checks the parts. */
    public ReferenceMamba2 {
        norms = Checks.noNulls(norms, "norms");
        Checks.notNull(taps, "taps");
        int width = Checks.notNull(output, "output").inputs();
        int count = Checks.notNull(heads, "heads").count();
        int channels = Checks.notNull(projection, "projection").outputs() - width - count;
        Checks.length(Checks.notNull(biases, "biases").length, channels, "biases", "one per channel");
        int elements = norms.stream().mapToInt(norm -> norm.weight().length).sum();
        Checks.length(elements, width, "norms", "one element per input of the output");
        int written = channels - width;
        if (width % count != 0 || written < 1 || written % (2 * heads.groups) != 0) {
            throw Checks.fail("projection", projection.outputs() + " outputs", "expected those of " + count + " heads");
        }
    }

    @Override
    public double[] of(double[] x) {
        int tokens = Checks.notNull(x, "x").length / projection.inputs();
        if (tokens == 0 || x.length % projection.inputs() != 0) {
            throw Checks.fail("x", x.length + " elements", "expected one or more rows of " + projection.inputs());
        }
        int width = output.inputs();
        int channels = biases.length;
        int outputs = projection.outputs();
        int headDim = width / heads.count();
        int stateDim = (channels - width) / 2 / heads.groups;
        double[] projected = projection.of(x);
        double[] mixed = new ReferenceConvolution(taps, channels)
                .of(ReferenceLinearAttention.columns(projected, outputs, width, channels));
        Arrays.setAll(mixed, i -> ReferenceActivation.silu(mixed[i] + biases[i % channels]));
        double[] gated = new double[tokens * width];
        for (int head = 0; head < heads.count(); head++) {
            int group = head / (heads.count() / heads.groups);
            double bias = heads.biases[head];
            double slope = heads.slopes[head];
            double[] rates = ReferenceLinearAttention.columns(projected, outputs, width + channels + head, 1);
            Arrays.setAll(rates, i -> ReferenceActivation.softplus(rates[i] + bias));
            double[] decays =
                    Arrays.stream(rates).map(rate -> Math.exp(slope * rate)).toArray();
            double[] results = new ReferenceStateSpace(
                            ReferenceLinearAttention.columns(mixed, channels, head * headDim, headDim),
                            ReferenceLinearAttention.columns(mixed, channels, width + group * stateDim, stateDim),
                            ReferenceLinearAttention.columns(
                                    mixed, channels, width + (heads.groups + group) * stateDim, stateDim),
                            decays,
                            rates)
                    .forward(new double[stateDim * headDim]);
            for (int i = 0; i < results.length; i++) {
                int token = i / headDim;
                int column = head * headDim + i % headDim;
                double result = results[i] + heads.skips[head] * mixed[token * channels + column];
                gated[token * width + column] = result * ReferenceActivation.silu(projected[token * outputs + column]);
            }
        }
        return output.of(normed(gated, width));
    }

    private double[] normed(double[] gated, int width) {
        double[] all = new double[gated.length];
        int from = 0;
        for (ReferenceTransformer.Norm norm : norms) {
            int length = norm.weight().length;
            double[] part = norm.of(ReferenceLinearAttention.columns(gated, width, from, length));
            for (int i = 0; i < part.length; i++) {
                all[i / length * width + from + i % length] = part[i];
            }
            from += length;
        }
        return all;
    }
}

package io.multihead.reference;

import io.multihead.internal.base.Checks;
import java.util.Arrays;
import java.util.List;

/**
 * Linear attention by the gated delta rule as plain loops in {@code double}, for one sequence: projections, a causal convolution with SiLU, queries and
 * keys divided by their lengths, {@link ReferenceDeltaRule}, the norm of each head's results times {@code silu(z)}, and the output projection
 * (Qwen3-Next, Qwen 3.5).
 *
 * @param projections queries, keys and values as one; z; the inputs of the sigmoids for rates; and the inputs of decays
 * @param taps {@code [channels, taps]} of the convolution
 * @param decay slopes of value heads, {@code -exp(A_log)}, followed by the same number of biases
 * @param norm norm of each value head's results
 * @param output the output projection
 * @param heads numbers of heads
 */
@SuppressWarnings("ArrayRecordComponent")
public record ReferenceLinearAttention(
        List<ReferenceTransformer.Linear> projections,
        double[] taps,
        double[] decay,
        ReferenceTransformer.Norm norm,
        ReferenceTransformer.Linear output,
        Heads heads)
        implements ReferenceTransformer.Part {
    private static final double EPSILON = 1e-6;

    /**
     * Numbers of heads.
     *
     * @param keys heads of queries and keys
     * @param values heads of values, a multiple of keys
     * @param tiled whether value head h reads key head {@code h % keys} instead of {@code h / (values /
     *     keys)}
     */
    public record Heads(int keys, int values, boolean tiled) {
        /** Checks the numbers. */
        public Heads {
            Checks.atLeast(keys, 1, "keys");
            if (values < 1 || values % keys != 0) {
                throw Checks.fail("values", String.valueOf(values), "expected a multiple of " + keys);
            }
        }
    }

    /** Checks the parts. */
    public ReferenceLinearAttention {
        projections = Checks.noNulls(projections, "projections");
        Checks.length(projections.size(), 4, "projections", "of queries, keys and values, gates, rates, decays");
        Checks.notNull(taps, "taps");
        Checks.notNull(norm, "norm");
        Checks.notNull(output, "output");
        Checks.length(
                Checks.notNull(decay, "decay").length,
                2 * Checks.notNull(heads, "heads").values,
                "decay",
                "two per head");
        int keys = projections.get(0).outputs() - output.inputs();
        Checks.length(projections.get(1).outputs(), output.inputs(), "projections", "gates as the output has inputs");
        Checks.length(norm.weight().length, output.inputs() / heads.values, "norm", "as a value head has elements");
        if (projections.get(0).inputs() < 1 || keys < 2 || keys % (2 * heads.keys) != 0) {
            throw Checks.fail("projections", keys + " outputs of queries and keys", "expected 2 of each key head");
        }
        for (int i = 2; i < 4; i++) {
            Checks.length(projections.get(i).outputs(), heads.values, "projections", "one output per value head");
        }
    }

    @Override
    public double[] of(double[] x) {
        int inputs = projections.get(0).inputs();
        int tokens = Checks.notNull(x, "x").length / inputs;
        if (tokens == 0 || x.length % inputs != 0) {
            throw Checks.fail("x", x.length + " elements", "expected one or more rows of " + inputs);
        }
        int channels = projections.get(0).outputs();
        int width = output.inputs();
        int keyWidth = (channels - width) / 2;
        double[] mixed =
                new ReferenceConvolution(taps, channels).of(projections.get(0).of(x));
        double[] z = projections.get(1).of(x);
        double[] rates = projections.get(2).of(x);
        double[] decays = projections.get(3).of(x);
        Arrays.setAll(mixed, i -> ReferenceActivation.silu(mixed[i]));
        Arrays.setAll(rates, i -> ReferenceActivation.sigmoid(rates[i]));
        Arrays.setAll(decays, i -> decay(decays[i], i % heads.values));
        double[] context = new double[tokens * width];
        int keyDim = keyWidth / heads.keys;
        int valueDim = width / heads.values;
        for (int head = 0; head < heads.values; head++) {
            int keyHead = heads.tiled ? head % heads.keys : head / (heads.values / heads.keys);
            double[] queries = unit(columns(mixed, channels, keyHead * keyDim, keyDim), keyDim);
            for (int i = 0; i < queries.length; i++) {
                queries[i] /= Math.sqrt(keyDim);
            }
            double[] keys = unit(columns(mixed, channels, keyWidth + keyHead * keyDim, keyDim), keyDim);
            double[] values = columns(mixed, channels, 2 * keyWidth + head * valueDim, valueDim);
            double[] outputs = new ReferenceDeltaRule(
                            queries,
                            keys,
                            values,
                            columns(decays, heads.values, head, 1),
                            columns(rates, heads.values, head, 1))
                    .forward(new double[keyDim * valueDim]);
            double[] normed = norm.of(outputs);
            for (int i = 0; i < normed.length; i++) {
                int at = i / valueDim * width + head * valueDim + i % valueDim;
                context[at] = normed[i] * ReferenceActivation.silu(z[at]);
            }
        }
        return output.of(context);
    }

    private double decay(double projected, int head) {
        return Math.exp(decay[head] * ReferenceActivation.softplus(projected + decay[heads.values + head]));
    }

    /** Returns some columns of row-major rows. */
    static double[] columns(double[] rows, int stride, int from, int count) {
        double[] result = new double[rows.length / stride * count];
        Arrays.setAll(result, i -> rows[i / count * stride + from + i % count]);
        return result;
    }

    /** Divides rows by their lengths. */
    private static double[] unit(double[] rows, int dim) {
        double[] result = rows.clone();
        for (int at = 0; at < rows.length; at += dim) {
            double squares = EPSILON;
            for (int i = at; i < at + dim; i++) {
                squares += rows[i] * rows[i];
            }
            for (int i = at; i < at + dim; i++) {
                result[i] /= Math.sqrt(squares);
            }
        }
        return result;
    }
}

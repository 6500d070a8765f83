package io.multihead.model;

import io.multihead.reference.ReferenceMamba2;
import io.multihead.support.Bounded;
import java.util.Arrays;

/** The formulas of {@link ReferenceMamba2} with running error bounds of f32 arithmetic. */
final class Mamba2Bound {
    private static final double U = 0x1p-24;

    private final ReferenceMamba2 of;
    private final Mamba2Heads heads;
    private final int width;
    private final Bounded[] projected;
    private final Bounded[] mixed;
    private final Bounded[] contexts;

    private Mamba2Bound(Mamba2Case c, double... x) {
        of = c.reference;
        heads = c.heads;
        width = of.output().inputs();
        int inputs = of.projection().inputs();
        int channels = of.biases().length;
        int tokens = x.length / inputs;
        projected = new Bounded[tokens];
        mixed = new Bounded[tokens];
        contexts = new Bounded[tokens];
        Bounded[] rows = new Bounded[tokens];
        for (int token = 0; token < tokens; token++) {
            Bounded row = Bounded.exact(Arrays.copyOfRange(x, token * inputs, (token + 1) * inputs));
            projected[token] = row.linear(of.projection().weight());
            rows[token] = projected[token].slice(width, channels);
            mixed[token] = Bounded.convolution(rows, token, of.taps())
                    .plus(Bounded.exact(of.biases()))
                    .silu();
            contexts[token] = new Bounded(new double[width], new double[width]);
        }
        for (int head = 0; head < heads.heads(); head++) {
            head(head);
        }
    }

    /** Returns the rows of all tokens, one after another. */
    static Bounded of(Mamba2Case c, double... x) {
        Mamba2Bound all = new Mamba2Bound(c, x);
        Bounded[] rows = Arrays.stream(all.contexts).map(all::output).toArray(Bounded[]::new);
        return Bounded.joined(rows);
    }

    private Bounded output(Bounded context) {
        int each = width / of.norms().size();
        Bounded[] parts = new Bounded[of.norms().size()];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = context.slice(i * each, each)
                    .rms(of.norms().get(i).weight(), of.norms().get(i).epsilon());
        }
        return Bounded.joined(parts).linear(of.output().weight());
    }

    private void head(int head) {
        int dim = heads.headDim();
        int depth = heads.stateDim();
        int group = head / (heads.heads() / heads.groups());
        Bounded[] state = new Bounded[depth];
        Arrays.fill(state, Bounded.exact(new double[dim]));
        for (int token = 0; token < contexts.length; token++) {
            Bounded x = mixed[token].slice(head * dim, dim);
            Bounded b = mixed[token].slice(width + group * depth, depth);
            Bounded c = mixed[token].slice(width + (heads.groups() + group) * depth, depth);
            Bounded rate = rate(token, head);
            Bounded decay = decay(rate, head);
            Bounded written = x.times(rate.values()[0], rate.errors()[0]);
            double[] sums = new double[dim];
            double[] errors = new double[dim];
            for (int row = 0; row < depth; row++) {
                state[row] = state[row]
                        .times(decay.values()[0], decay.errors()[0])
                        .plus(written.times(b.values()[row], b.errors()[row]));
                Bounded read = state[row].times(c.values()[row], c.errors()[row]);
                for (int i = 0; i < dim; i++) {
                    sums[i] += read.values()[i];
                    errors[i] += read.errors()[i] + depth * U * (Math.abs(read.values()[i]) + read.errors()[i]);
                }
            }
            Bounded gates = projected[token].slice(head * dim, dim).silu();
            Bounded made = new Bounded(sums, errors)
                    .plus(x.times(of.heads().skips()[head], 0))
                    .times(gates);
            System.arraycopy(made.values(), 0, contexts[token].values(), head * dim, dim);
            System.arraycopy(made.errors(), 0, contexts[token].errors(), head * dim, dim);
        }
    }

    /** The softplus, whose slope is at most 1. */
    private Bounded rate(int token, int head) {
        Bounded read = projected[token].slice(width + of.biases().length + head, 1);
        double bias = of.heads().biases()[head];
        double x = read.values()[0] + bias;
        double rate = Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
        double error = read.errors()[0] + 4 * U * (Math.abs(read.values()[0]) + Math.abs(bias) + rate);
        return new Bounded(new double[] {rate}, new double[] {error});
    }

    private Bounded decay(Bounded rate, int head) {
        double slope = of.heads().slopes()[head];
        double decay = Math.exp(slope * rate.values()[0]);
        double exponent = Math.abs(slope) * (rate.errors()[0] + 4 * U * rate.values()[0]);
        return new Bounded(new double[] {decay}, new double[] {decay * Math.expm1(exponent) + 8 * U * decay});
    }
}

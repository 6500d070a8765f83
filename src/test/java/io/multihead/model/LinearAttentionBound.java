package io.multihead.model;

import io.multihead.reference.ReferenceLinearAttention;
import io.multihead.support.Bounded;
import java.util.Arrays;

/**
 * The error of f32 arithmetic in linear attention: the formulas of {@link ReferenceLinearAttention} with running error
 * bounds. The error of each column of the state is bounded in the Euclidean norm. A step multiplies the error of a
 * column by {@code a (I - b k k^T)} and adds the error of its operations. The norm of this matrix is at most a, since b
 * and the length of k are at most 1. Therefore errors add up over tokens, but are not amplified.
 */
final class LinearAttentionBound {
    private static final double U = 0x1p-24;
    private static final double EPSILON = 1e-6;

    private final ReferenceLinearAttention of;
    private final LinearHeads heads;
    private final Bounded[][] projected;
    private final Bounded[] mixed;
    private final Bounded[] contexts;

    private LinearAttentionBound(LinearAttentionCase c, double... x) {
        of = c.reference;
        heads = c.heads;
        int inputs = of.projections().get(0).inputs();
        int tokens = x.length / inputs;
        projected = new Bounded[tokens][];
        mixed = new Bounded[tokens];
        contexts = new Bounded[tokens];
        int width = heads.valueHeads() * heads.valueDim();
        Bounded[] rows = new Bounded[tokens];
        for (int token = 0; token < tokens; token++) {
            Bounded row = Bounded.exact(Arrays.copyOfRange(x, token * inputs, (token + 1) * inputs));
            projected[token] = of.projections().stream()
                    .map(each -> row.linear(each.weight()))
                    .toArray(Bounded[]::new);
            rows[token] = projected[token][0];
            mixed[token] = Bounded.convolution(rows, token, of.taps()).silu();
            contexts[token] = new Bounded(new double[width], new double[width]);
        }
        for (int head = 0; head < heads.valueHeads(); head++) {
            head(head);
        }
    }

    /** Returns the rows of all tokens, one after another. */
    static Bounded of(LinearAttentionCase c, double... x) {
        LinearAttentionBound all = new LinearAttentionBound(c, x);
        Bounded[] rows = Arrays.stream(all.contexts)
                .map(context -> context.linear(all.of.output().weight()))
                .toArray(Bounded[]::new);
        return Bounded.joined(rows);
    }

    private void head(int head) {
        int keyDim = heads.keyDim();
        int valueDim = heads.valueDim();
        int query = heads.keyHead(head) * keyDim;
        double[][] state = new double[valueDim][keyDim];
        double[] off = new double[valueDim];
        double[] root = filled(keyDim, 1 / Math.sqrt(keyDim));
        for (int token = 0; token < contexts.length; token++) {
            // a row divided by its length equals the row divided by the root of its mean square, times 1 / sqrt(keyDim)
            Bounded q = mixed[token].slice(query, keyDim).rms(filled(keyDim, 1.0 / keyDim), EPSILON / keyDim);
            Bounded k = mixed[token].slice(heads.keyWidth() + query, keyDim).rms(root, EPSILON / keyDim);
            Bounded v = mixed[token].slice(2 * heads.keyWidth() + head * valueDim, valueDim);
            Step step = new Step(q, k, rate(token, head), decay(token, head));
            double[] outputs = new double[valueDim];
            double[] errors = new double[valueDim];
            for (int column = 0; column < valueDim; column++) {
                off[column] = step.update(state[column], off[column], v.values()[column], v.errors()[column]);
                outputs[column] = dot(q.values(), state[column]);
                double size = length(state[column]) + off[column];
                double ofQuery = length(q.values()) + length(q.errors());
                errors[column] = ofQuery * off[column] + length(q.errors()) * size + (keyDim + 2) * U * ofQuery * size;
            }
            Bounded gates = projected[token][1].slice(head * valueDim, valueDim).silu();
            Bounded made = new Bounded(outputs, errors)
                    .rms(of.norm().weight(), of.norm().epsilon())
                    .times(gates);
            System.arraycopy(made.values(), 0, contexts[token].values(), head * valueDim, valueDim);
            System.arraycopy(made.errors(), 0, contexts[token].errors(), head * valueDim, valueDim);
        }
    }

    /** The sigmoid, whose slope is at most a quarter. */
    private Bounded rate(int token, int head) {
        double rate = 1 / (1 + Math.exp(-projected[token][2].values()[head]));
        return new Bounded(
                new double[] {rate}, new double[] {projected[token][2].errors()[head] / 4 + 8 * U * rate});
    }

    private Bounded decay(int token, int head) {
        double slope = of.decay()[head];
        double bias = of.decay()[heads.valueHeads() + head];
        double read = projected[token][3].values()[head];
        double x = read + bias;
        double softplus = Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
        double decay = Math.exp(slope * softplus);
        double exponent = Math.abs(slope)
                * (projected[token][3].errors()[head] + 4 * U * (Math.abs(read) + Math.abs(bias) + softplus));
        return new Bounded(new double[] {decay}, new double[] {decay * Math.expm1(exponent) + 8 * U * decay});
    }

    /** One token of one head. */
    private record Step(Bounded q, Bounded k, Bounded rate, Bounded decay) {
        /** Updates a column, and returns the bound of its error if the error was at most {@code off} before. */
        double update(double[] column, double off, double value, double valueError) {
            double a = decay.values()[0];
            double b = rate.values()[0];
            double key = length(k.values());
            double keyError = length(k.errors());
            double size = length(column) + off;
            double recalled = a * dot(k.values(), column);
            double change = b * (value - recalled);
            double mostRecalled = Math.abs(recalled) + a * key * off;
            double mostChange = Math.abs(change) + b * a * key * off;
            double recallError = a * keyError * size
                    + decay.errors()[0] * (key + keyError) * size
                    + (column.length + 3) * U * (a + decay.errors()[0]) * (key + keyError) * size;
            double sum = Math.abs(value) + valueError + mostRecalled + recallError;
            double changeError = b * (valueError + recallError) + (rate.errors()[0] + 3 * U) * sum;
            double added = mostChange + changeError;
            double error = keyError * added
                    + key * changeError
                    + decay.errors()[0] * size
                    + 3 * U * ((a + decay.errors()[0]) * size + (key + keyError) * added);
            for (int i = 0; i < column.length; i++) {
                column[i] = a * column[i] + k.values()[i] * change;
            }
            return a * off + error;
        }
    }

    private static double[] filled(int count, double value) {
        double[] all = new double[count];
        Arrays.fill(all, value);
        return all;
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private static double length(double[] a) {
        return Math.sqrt(dot(a, a));
    }
}

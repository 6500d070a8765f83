package io.multihead.support;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * Numbers in {@code double}, and the largest error of each in f32 arithmetic with the same inputs: a running error bound (Higham 2002,
 * section 3.3). Each operation adds its roundings to the propagated errors of its operands, including terms of second
 * order. A sum of n terms in any order has n roundings of the sum of the absolute terms.
 *
 * @param values exact
 * @param errors at least 0
 */
@SuppressWarnings("ArrayRecordComponent")
public record Bounded(double[] values, double[] errors) {
    private static final double U = 0x1p-24;

    /** Returns numbers without an error. */
    public static Bounded exact(double... values) {
        return new Bounded(values, new double[values.length]);
    }

    /** Returns {@code count} numbers from index {@code from} on. */
    public Bounded slice(int from, int count) {
        return new Bounded(
                Arrays.copyOfRange(values, from, from + count), Arrays.copyOfRange(errors, from, from + count));
    }

    /** Returns the concatenation of the numbers of all parts. */
    public static Bounded joined(Bounded... parts) {
        return new Bounded(
                Arrays.stream(parts)
                        .flatMapToDouble(part -> DoubleStream.of(part.values()))
                        .toArray(),
                Arrays.stream(parts)
                        .flatMapToDouble(part -> DoubleStream.of(part.errors()))
                        .toArray());
    }

    /** Returns the products of the rows of a matrix {@code [outputs, inputs]} with these numbers. */
    public Bounded linear(double... weight) {
        int inputs = values.length;
        double[] sums = new double[weight.length / inputs];
        double[] bounds = new double[sums.length];
        for (int i = 0; i < weight.length; i++) {
            int x = i % inputs;
            double size = Math.abs(weight[i]);
            sums[i / inputs] += weight[i] * values[x];
            bounds[i / inputs] += size * errors[x] + (inputs + 1) * U * size * (Math.abs(values[x]) + errors[x]);
        }
        return new Bounded(sums, bounds);
    }

    /**
     * Returns a token of a causal convolution of each channel.
     *
     * @param rows the token and the tokens before it
     * @param taps {@code [channels, taps]}; the last tap is the factor of the token itself
     */
    public static Bounded convolution(Bounded[] rows, int token, double... taps) {
        int channels = rows[token].values.length;
        int count = taps.length / channels;
        double[] sums = new double[channels];
        double[] errors = new double[channels];
        for (int k = Math.max(0, count - 1 - token); k < count; k++) {
            Bounded row = rows[token - count + 1 + k];
            for (int i = 0; i < channels; i++) {
                double weight = taps[i * count + k];
                sums[i] += weight * row.values[i];
                errors[i] += Math.abs(weight) * (row.errors[i] + (count + 1) * U * row.size(i));
            }
        }
        return new Bounded(sums, errors);
    }

    /**
     * Returns {@code x / sqrt(mean(x^2) + epsilon) * weight}; the relative error of a root mean square is half the
     * relative error of its sum.
     */
    public Bounded rms(double[] weight, double epsilon) {
        double square = 0;
        double change = 0;
        for (int i = 0; i < values.length; i++) {
            square += values[i] * values[i] / values.length;
            change += errors[i] * (2 * Math.abs(values[i]) + errors[i]) / values.length;
        }
        double inverse = 1 / Math.sqrt(square + epsilon);
        double least = Math.max(epsilon, square + epsilon - change);
        double ofInverse = 1 / Math.sqrt(least) - inverse + (values.length + 6) * U / Math.sqrt(least);
        return map(
                i -> values[i] * inverse * weight[i],
                i -> Math.abs(weight[i])
                        * (errors[i] * (inverse + ofInverse) + Math.abs(values[i]) * (ofInverse + 3 * U * inverse)));
    }

    /**
     * Returns {@code x / (1 + e^-x)} with a slope of at most 1.1. The exponential has an error of four units in the
     * last place.
     */
    public Bounded silu() {
        IntToDoubleFunction silu = i -> values[i] / (1 + Math.exp(-values[i]));
        return map(silu, i -> 1.1 * errors[i] + 12 * U * (Math.abs(silu.applyAsDouble(i)) + 1.1 * errors[i]));
    }

    /** Returns the products with the numbers at the same index. */
    public Bounded times(Bounded other) {
        return map(i -> values[i] * other.values[i], i -> {
            double error = size(i) * other.errors[i] + errors[i] * other.size(i);
            return error + U * (Math.abs(values[i] * other.values[i]) + error);
        });
    }

    /** Returns the sums with the numbers at the same index. */
    public Bounded plus(Bounded other) {
        return map(i -> values[i] + other.values[i], i -> errors[i] + other.errors[i] + U * (size(i) + other.size(i)));
    }

    /** Returns the products of all numbers with one factor, which may have an error. */
    public Bounded times(double factor, double error) {
        double[] factors = new double[values.length];
        double[] off = new double[values.length];
        Arrays.fill(factors, factor);
        Arrays.fill(off, error);
        return times(new Bounded(factors, off));
    }

    /** Returns the largest error. */
    public double error() {
        return Arrays.stream(errors).max().orElse(0);
    }

    private double size(int i) {
        return Math.abs(values[i]) + errors[i];
    }

    private Bounded map(IntToDoubleFunction value, IntToDoubleFunction error) {
        return new Bounded(
                IntStream.range(0, values.length).mapToDouble(value).toArray(),
                IntStream.range(0, values.length).mapToDouble(error).toArray());
    }
}

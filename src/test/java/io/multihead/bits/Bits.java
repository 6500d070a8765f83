package io.multihead.bits;

import io.multihead.compute.Compute;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.DoubleSupplier;

/** Seeded inputs for the calls of one group, and a hash of the bits of all results. */
final class Bits {
    private static final long MULTIPLIER = 0x9e3779b97f4a7c15L;

    final Compute cpu;
    final SplittableRandom random = new SplittableRandom(2017);
    private final Arena arena = Arena.ofAuto();
    private final List<String> calls = new ArrayList<>();
    private long hash;

    Bits(Compute cpu) {
        this.cpu = cpu;
    }

    /** Returns the hash of all results added until now. */
    String hash() {
        return String.format("%016x", hash);
    }

    /** Returns a line per call with the hash of its results and its name. */
    List<String> calls() {
        return calls;
    }

    /** Adds the results of one call. */
    void add(String call, Tensor... results) {
        long own = 0;
        for (Tensor result : results) {
            own = mix(own, result.dtype().ordinal());
            for (long size : result.shape().toArray()) {
                own = mix(own, size);
            }
            for (double value : Numbers.of(result)) {
                own = mix(own, Double.doubleToLongBits(value)); // all NaN have equal bits
            }
        }
        add(call, own);
    }

    /** Adds the numbers that one call returned. */
    void add(String call, double... results) {
        long own = results.length;
        for (double value : results) {
            own = mix(own, Double.doubleToLongBits(value));
        }
        add(call, own);
    }

    private void add(String call, long own) {
        calls.add(String.format("%016x %s", own, call));
        hash = mix(hash, own);
    }

    /** Every step is a bijection, so that a single changed element always changes the hash. */
    private static long mix(long hash, long bits) {
        return (Long.rotateLeft(hash, 29) ^ bits) * MULTIPLIER;
    }

    /** Returns a dense f32 tensor of approximately normal numbers. */
    Tensor normal(long... dims) {
        return normal(DType.F32, Layout.DENSE, dims);
    }

    /** Returns approximately normal numbers. Each is a sum of uniform numbers, which is the same on every machine. */
    Tensor normal(DType dtype, Layout layout, long... dims) {
        double sigma = dtype == DType.I8 ? 3 : 1;
        return fill(layout.allocate(arena, dtype, dims), () -> sigma * normal());
    }

    /** Returns a number of a distribution of variance 1, as a multiple of 2^-24. */
    double normal() {
        long sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += random.nextInt() >> 6;
        }
        return sum * 0x1p-24 * 0.5;
    }

    /** Returns memory for results, filled with a value that results never have. */
    Tensor empty(DType dtype, Layout layout, long... dims) {
        return fill(layout.allocate(arena, dtype, dims), () -> 77);
    }

    /** Returns dense memory for results. */
    Tensor empty(DType dtype, long... dims) {
        return empty(dtype, Layout.DENSE, dims);
    }

    /** Returns I8 flags, each of which is 1 with probability {@code share} and else 0. */
    Tensor flags(double share, long... dims) {
        Layout layout = layout(random.nextInt(Layout.values().length));
        return fill(layout.allocate(arena, DType.I8, dims), () -> random.nextDouble() < share ? 1 : 0);
    }

    /** Returns a score bias in which each element is minus infinity with probability {@code hidden}. */
    Tensor bias(double hidden, DType dtype, long... dims) {
        Layout layout = layout(random.nextInt(Layout.values().length));
        return fill(
                layout.allocate(arena, dtype, dims),
                () -> random.nextDouble() < hidden ? Double.NEGATIVE_INFINITY : normal());
    }

    /** Returns one of the five element types. */
    static DType dtype(int number) {
        return DType.values()[Math.floorMod(number, DType.values().length)];
    }

    /** Returns one of the floating-point element types. */
    static DType floating(int number) {
        return DType.values()[Math.floorMod(number, DType.values().length - 1)];
    }

    static Layout layout(int number) {
        return Layout.values()[Math.floorMod(number, Layout.values().length)];
    }

    private static Tensor fill(Tensor tensor, DoubleSupplier numbers) {
        return Numbers.fill(tensor, numbers);
    }

    Arena arena() {
        return arena;
    }
}

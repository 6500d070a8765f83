package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.jmh.data.Data;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import jdk.incubator.vector.FloatVector;

/**
 * Measures one JVM from its first call on: the time until attention {@code [1, 8, 512, 64]}, or a layer of a small
 * encoder, runs at nine tenths of its steady speed, and the steady speeds of this call, of a product of size 1024 and,
 * as a control, of fused multiply-adds alone.
 */
public final class FreshCall {
    private static final double SECONDS = 6;
    /** The features of the layer, which packs its weights in its first call. */
    private static final int FEATURES = 384;

    private static final int HEADS = 12;
    private static final int TOKENS = 16;

    /** The number of calls whose median must have the speed, so that one fast call is not enough. */
    private static final int WINDOW = 9;

    /** The timed call, and its floating-point operations. */
    private record Workload(Runnable call, double operations) {}

    private FreshCall() {}

    /** Prints the numbers of {@link Fresh#COLUMNS}. The argument is {@code attention} or {@code layer}. */
    public static void main(String[] arguments) {
        Tensor a = Data.normal(5, 1, 1024, 1024);
        Tensor c = Data.normal(6, 1, 1024, 1024);
        try (Compute cpu = Compute.serial()) {
            Workload workload = arguments[0].equals("layer") ? layer(cpu) : attention(cpu);
            List<Double> calls = seconds(workload.call, SECONDS);
            double steady = steady(calls, 4);
            List<Double> products = seconds(() -> Gemm.multiply(cpu, a, a, c, GemmOptions.DEFAULT), SECONDS / 2);
            List<Double> controls = seconds(FmaChains::run, SECONDS / 6);
            System.out.printf(
                    Locale.ROOT,
                    "%.4f %.4f %.4f %.4f %.4f%n",
                    calls.get(0),
                    calls.stream()
                            .limit(1 + firstAt(calls, steady / 0.9))
                            .mapToDouble(call -> call)
                            .sum(),
                    workload.operations / steady * 1e-9,
                    2 * Math.pow(1024, 3) / steady(products, 2) * 1e-9,
                    Roofline.operations(FloatVector.SPECIES_PREFERRED.length()) / steady(controls, 2) * 1e-9);
        }
    }

    private static Workload attention(Compute cpu) {
        Tensor query = Data.normal(1, 1, 1, 8, 512, 64);
        Tensor key = Data.normal(2, 1, 1, 8, 512, 64);
        Tensor value = Data.normal(3, 1, 1, 8, 512, 64);
        Tensor output = Data.normal(4, 1, 1, 8, 512, 64);
        return new Workload(
                () -> Attention.forward(cpu, query, key, value, output, AttentionOptions.DEFAULT),
                Work.attention(8, 512, 64, false));
    }

    private static Workload layer(Compute cpu) {
        MultiHeadAttention layer =
                MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(FEATURES, HEADS), 1);
        Tensor x = Data.normal(1, 1, 1, TOKENS, FEATURES);
        Tensor y = Data.normal(2, 1, 1, TOKENS, FEATURES);
        double projections = 4.0 * 2 * TOKENS * FEATURES * FEATURES;
        return new Workload(
                () -> layer.forward(cpu, x, y), projections + Work.attention(HEADS, TOKENS, FEATURES / HEADS, false));
    }

    /** Returns the first call of the first window of calls that has the speed. */
    private static int firstAt(List<Double> calls, double time) {
        int first = 0;
        while (median(calls.subList(first, first + WINDOW)) > time) {
            first++;
        }
        return first;
    }

    private static List<Double> seconds(Runnable call, double limit) {
        List<Double> calls = new ArrayList<>();
        long start = System.nanoTime();
        double end = 0;
        while (end < limit || calls.size() < 2 * WINDOW) {
            call.run();
            double now = (System.nanoTime() - start) * 1e-9;
            calls.add(now - end);
            end = now;
        }
        return calls;
    }

    /** Returns the median of the last {@code 1 / parts} of the calls, at least one call. */
    private static double steady(List<Double> calls, int parts) {
        return median(calls.subList(calls.size() - Math.ceilDiv(calls.size(), parts), calls.size()));
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }
}

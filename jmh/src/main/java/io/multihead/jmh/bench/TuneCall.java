package io.multihead.jmh.bench;

import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.CacheSizes;
import io.multihead.internal.gemm.Blocking;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.nio.ByteOrder;
import java.util.Locale;

/**
 * What depends on block sizes and caches, in one JVM of {@code jmh/run tune}: products whose blocks are chosen by the caches, and one row by
 * weights in L2 and in memory. Prints the fastest call of each.
 */
public final class TuneCall {
    static final String[] COLUMNS = {
        "MC",
        "1024 x 1024, GFLOP/s",
        "2048 x 2048, GFLOP/s",
        "512 x 768 by 768 x 3072, GFLOP/s",
        "one row, Q8_0 in L2, GB/s",
        "one row, Q8_0 in memory, GB/s"
    };

    private static final double SECONDS = 2;
    /** Bytes of 32 weights in Q8_0. */
    private static final double Q8_0_BYTES = 34;

    private TuneCall() {}

    /** Prints the figures in the order of the columns. */
    public static void main(String[] arguments) {
        System.out.printf(
                Locale.ROOT,
                "%d %.4g %.4g %.4g %.4g %.4g%n",
                Blocking.MC,
                product(1024, 1024, 1024),
                product(2048, 2048, 2048),
                product(512, 768, 3072),
                row(512),
                row(65536));
    }

    /** Returns the caches that the system tells. */
    static String caches() {
        CacheSizes sizes = CacheSizes.ofThisMachine();
        return "L1 %d KiB, L2 %d KiB, L3 %d KiB (0: not told); blocks of %d x %d x %d (MC, KC, NC), tasks of %d rows"
                .formatted(
                        sizes.l1() >> 10,
                        sizes.l2() >> 10,
                        sizes.l3() >> 10,
                        Blocking.MC,
                        Blocking.KC,
                        Blocking.NC,
                        Blocking.TASK_ROWS);
    }

    private static double product(int m, int k, int n) {
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            Tensor a = random(arena, m, k);
            Tensor b = random(arena, k, n);
            Tensor c = random(arena, m, n);
            return 2e-9 * m * k * n / fastest(() -> Gemm.multiply(cpu, a, b, c, GemmOptions.DEFAULT));
        }
    }

    private static double row(int outputs) {
        int inputs = 1024;
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            Tensor x = random(arena, 1, inputs);
            Tensor y = random(arena, 1, outputs);
            PackedWeights weights =
                    PackedWeights.ofOutputRows(arena, random(arena, outputs, inputs), WeightFormat.Q8_0);
            double bytes = Q8_0_BYTES / 32 * inputs * outputs;
            return 1e-9 * bytes / fastest(() -> Gemm.multiply(cpu, x, weights, y, GemmOptions.DEFAULT));
        }
    }

    private static double fastest(Runnable call) {
        long end = System.nanoTime() + (long) (SECONDS * 1e9);
        long fastest = Long.MAX_VALUE;
        while (System.nanoTime() < end) {
            long start = System.nanoTime();
            call.run();
            fastest = Math.min(fastest, System.nanoTime() - start);
        }
        return fastest * 1e-9;
    }

    private static Tensor random(Arena arena, int rows, int columns) {
        Tensor tensor = Tensor.allocate(arena, DType.F32, Shape.of(rows, columns));
        tensor.memory()
                .asByteBuffer()
                .order(ByteOrder.nativeOrder())
                .asFloatBuffer()
                .put(Data.gaussian(rows * columns, rows));
        return tensor;
    }
}

package io.multihead.jmh.bench;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.MaxSim;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.CacheSizes;
import io.multihead.internal.gemm.Blocking;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.stream.LongStream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * Measures calls that depend on block sizes and caches, in one JVM of {@code jmh/run tune}: products, attention and
 * late interaction, which have block sizes for the caches, and one row times weights in L2 and in memory.
 * Alternatively, it measures the read bandwidth for memory of several sizes, which shows the size of each cache. Prints
 * the fastest call of each kind.
 */
public final class TuneCall {
    static final String[] COLUMNS = {
        "MC",
        "rows of a panel in a walk",
        "1024 x 1024, GFLOP/s",
        "2048 x 2048, GFLOP/s",
        "512 x 768 by 768 x 3072, GFLOP/s",
        "attention 1 x 8 x 2048 x 64, GFLOP/s",
        "the same backward, 1024 tokens, GFLOP/s",
        "MaxSim, 32 by 30,000 vectors of 128, GFLOP/s",
        "one row, Q8_0 in L2, GB/s",
        "one row, Q8_0 in memory, GB/s"
    };

    /** The sizes in KiB of memory that is read repeatedly. */
    private static final int[] READ_KIB = {16, 32, 40, 64, 256, 512, 1024, 1536, 2048, 4096, 16384, 65536, 262144};

    /** The argument for reads only. */
    static final String READS = "reads";

    static final String[] READ_COLUMNS =
            Arrays.stream(READ_KIB).mapToObj(kib -> kib + " KiB, GB/s").toArray(String[]::new);

    private static final double SECONDS = 2;
    /** The bytes of 32 weights in Q8_0. */
    private static final double Q8_0_BYTES = 34;

    private static final int HEADS = 8;
    private static final int DIM = 64;

    private TuneCall() {}

    /**
     * Prints the figures in the order of the columns. If the first argument is {@link #READS}, these are the figures of
     * reads.
     */
    public static void main(String[] arguments) {
        double[] figures = arguments[0].equals(READS)
                ? Arrays.stream(READ_KIB)
                        .mapToDouble(kib -> Math.max(read(kib), read(kib))) // the first one until C2 is done
                        .toArray()
                : new double[] {
                    Blocking.MC,
                    Blocking.WALK,
                    product(1024, 1024, 1024),
                    product(2048, 2048, 2048),
                    product(512, 768, 3072),
                    attention(2048, false),
                    attention(1024, true),
                    maxSim(),
                    row(512),
                    row(65536)
                };
        StringJoiner line = new StringJoiner(" ");
        for (double figure : figures) {
            line.add(String.format(Locale.ROOT, "%.1f", figure));
        }
        System.out.println(line);
    }

    private static double read(int kib) {
        long bytes = (long) kib << 10;
        // each of 8 sums adds every eighth vector, so that additions are independent
        long whole = bytes / (8L * Reads.STEP) * 8L * Reads.STEP;
        int times = (int) Math.max(1, (1L << 20) / whole);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(bytes, 64);
            memory.fill((byte) 1);
            return 1e-9 * times * whole / fastest(() -> Reads.sum(memory, whole, times));
        }
    }

    /** Returns the cache sizes that the system reports. */
    static String caches() {
        CacheSizes sizes = CacheSizes.ofThisMachine();
        return ("L1 %d KiB, L2 %d KiB, L3 %d KiB (0: not told); blocks of %d x %d x %d (MC, KC, NC), tasks of %d rows, walks of %d"
                        + " rows of a panel")
                .formatted(
                        sizes.l1() >> 10,
                        sizes.l2() >> 10,
                        sizes.l3() >> 10,
                        Blocking.MC,
                        Blocking.KC,
                        Blocking.NC,
                        Blocking.TASK_ROWS,
                        Blocking.WALK);
    }

    private static double product(int m, int k, int n) {
        try (Compute cpu = Compute.serial()) {
            Tensor a = Data.tensor(1, m, k);
            Tensor b = Data.tensor(2, k, n);
            Tensor c = Data.tensor(3, m, n);
            return 2e-9 * m * k * n / fastest(() -> Gemm.multiply(cpu, a, b, c, GemmOptions.DEFAULT));
        }
    }

    private static double attention(int tokens, boolean isBackward) {
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            Shape shape = Shape.of(1, HEADS, tokens, DIM);
            Tensor[] inputs = new Tensor[4];
            Tensor[] results = new Tensor[4];
            for (int i = 0; i < inputs.length; i++) {
                inputs[i] = Data.tensor(i, 1, HEADS, tokens, DIM);
                results[i] = Tensor.allocate(arena, DType.F32, shape);
            }
            AttentionOutputs outputs = AttentionOutputs.of(results[3])
                    .withLogSumExp(Tensor.allocate(arena, DType.F64, Shape.of(1, HEADS, tokens)));
            AttentionOptions options = AttentionOptions.DEFAULT;
            Attention.forward(cpu, inputs[0], inputs[1], inputs[2], outputs, options);
            AttentionPass pass = new AttentionPass(inputs[0], inputs[1], inputs[2], outputs, options);
            AttentionGradients gradients = AttentionGradients.of(results[0], results[1], results[2]);
            double operations = Work.attention(HEADS, tokens, DIM, false);
            return isBackward
                    ? 1e-9 * 2.5 * operations / fastest(() -> Attention.backward(cpu, pass, inputs[3], gradients))
                    : 1e-9
                            * operations
                            / fastest(() -> Attention.forward(cpu, inputs[0], inputs[1], inputs[2], outputs, options));
        }
    }

    private static double maxSim() {
        int query = 32;
        int passages = 100;
        int tokens = 300;
        int dim = 128;
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            Tensor left = Data.tensor(5, query, dim);
            Tensor right = Data.tensor(6, passages * tokens, dim);
            Tensor scores = Tensor.allocate(arena, DType.F32, Shape.of(passages));
            long[] offsets =
                    LongStream.rangeClosed(0, passages).map(i -> i * tokens).toArray();
            double operations = 2.0 * query * passages * tokens * dim;
            return 1e-9 * operations / fastest(() -> MaxSim.scores(cpu, left, right, offsets, scores));
        }
    }

    private static double row(int outputs) {
        int inputs = 1024;
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            Tensor x = Data.tensor(7, 1, inputs);
            Tensor y = Data.tensor(8, 1, outputs);
            PackedWeights weights =
                    PackedWeights.ofOutputRows(arena, Data.tensor(9, outputs, inputs), WeightFormat.Q8_0);
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

    /** Sums of memory. */
    private static final class Reads {
        private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
        static final int STEP = SPECIES.vectorByteSize();
        private static float sink;

        private Reads() {}

        static void sum(MemorySegment memory, long bytes, int times) {
            for (int time = 0; time < times; time++) {
                sink += sum(memory, bytes);
            }
        }

        private static float sum(MemorySegment memory, long bytes) {
            FloatVector a = FloatVector.zero(SPECIES), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
            for (long at = 0; at < bytes; at += 8L * STEP) {
                a = a.add(load(memory, at));
                b = b.add(load(memory, at + STEP));
                c = c.add(load(memory, at + 2L * STEP));
                d = d.add(load(memory, at + 3L * STEP));
                e = e.add(load(memory, at + 4L * STEP));
                f = f.add(load(memory, at + 5L * STEP));
                g = g.add(load(memory, at + 6L * STEP));
                h = h.add(load(memory, at + 7L * STEP));
            }
            return a.add(b).add(c).add(d).add(e).add(f).add(g).add(h).lane(0);
        }

        private static FloatVector load(MemorySegment memory, long at) {
            return FloatVector.fromMemorySegment(SPECIES, memory, at, ByteOrder.nativeOrder());
        }
    }
}

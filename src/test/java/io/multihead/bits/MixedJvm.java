package io.multihead.bits;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.attention.Softmax;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.position.Rope;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Compares warm calls in two JVMs. The first has made all calls of {@link BitsTest} before, in random order; the second makes only one kind
 * of call. A warm call that allocates in either JVM is an error. Decisions of C2 for one call should not make another call slower, so times
 * are printed. {@code .ci/matrix} runs it.
 */
final class MixedJvm {
    private static final List<Consumer<Bits>> GROUPS = List.of(
            GemmBits::run,
            AttentionBits::run,
            ScoreBits::run,
            BackwardBits::run,
            CacheBits::run,
            PositionBits::run,
            LayerBits::run,
            MultiHeadBits::run);
    /** C2 compiles the kernels with the profiles of all calls in this number of passes. */
    private static final int PASSES = 2;

    private static final long TIMED_NANOS = TimeUnit.MILLISECONDS.toNanos(700);

    private MixedJvm() {}

    /**
     * Prints a line per call with its name, the nanoseconds of its fastest run and the bytes that 50 warm runs allocate. The exit status is
     * 3 if any call allocates.
     *
     * @param args {@code names}, or {@code mixed} and the seed of the order, or {@code alone} and the name of a call
     */
    public static void main(String[] args) {
        Compute cpu = Compute.serial();
        Map<String, Runnable> calls = calls(cpu, true);
        if (args[0].equals("names")) {
            calls.keySet().forEach(System.out::println);
            return;
        }
        if (args[0].equals("mixed")) {
            everything(calls, cpu, new Random(Long.parseLong(args[1])));
        } else {
            calls.keySet().retainAll(List.of(args[1]));
        }
        long allocated = 0;
        for (Map.Entry<String, Runnable> call : calls.entrySet()) {
            long bytes = WarmCalls.allocatedBytes(call.getValue());
            System.out.printf("%s %d ns %d bytes%n", call.getKey(), fastest(call.getValue()), bytes);
            allocated += bytes;
        }
        System.exit(allocated == 0 ? 0 : 3);
    }

    private static void everything(Map<String, Runnable> calls, Compute cpu, Random random) {
        try (Compute threads = Compute.threads(2)) {
            List<Runnable> all = new ArrayList<>(calls.values());
            all.addAll(calls(cpu, false).values());
            for (Consumer<Bits> group : GROUPS) {
                all.add(() -> group.accept(new Bits(cpu)));
                all.add(() -> group.accept(new Bits(threads)));
            }
            for (int pass = 0; pass < PASSES; pass++) {
                Collections.shuffle(all, random);
                all.forEach(Runnable::run);
            }
        }
    }

    /** Returns calls over tensors in native memory or on the heap. */
    private static Map<String, Runnable> calls(Compute cpu, boolean nativeMemory) {
        Arena arena = Arena.ofAuto();
        Tensor query = tensor(arena, nativeMemory, 1, 4, 128, 64);
        Tensor key = tensor(arena, nativeMemory, 1, 2, 128, 64);
        Tensor output = tensor(arena, nativeMemory, 1, 4, 128, 64);
        Tensor a = tensor(arena, nativeMemory, 200, 200);
        Tensor c = tensor(arena, nativeMemory, 200, 200);
        PackedWeights packed = PackedWeights.ofInputRows(a);
        AttentionOptions window = AttentionOptions.CAUSAL
                .withMask(Mask.CAUSAL.and(Mask.window(40, 0)))
                .withScores(ScoreOptions.NONE.withSoftCap(30));
        Rope rope = Rope.of(Rope.Config.of(64));
        Map<String, Runnable> calls = new LinkedHashMap<>();
        calls.put("attention", () -> Attention.forward(cpu, query, key, key, output, AttentionOptions.DEFAULT));
        calls.put("window", () -> Attention.forward(cpu, query, key, key, output, window));
        calls.put("gemm", () -> Gemm.multiply(cpu, a, a, c, GemmOptions.DEFAULT));
        calls.put("packed", () -> Gemm.multiply(cpu, a, packed, c, GemmOptions.DEFAULT));
        Tensor row = a.slice(0, 0, 1);
        Tensor product = c.slice(0, 0, 1);
        calls.put("row", () -> Gemm.multiply(cpu, row, packed, product, GemmOptions.DEFAULT));
        calls.put("softmax", () -> Softmax.forward(cpu, a, c, null, AttentionOptions.DEFAULT));
        calls.put("rope", () -> rope.apply(cpu, query, output, 7));
        for (DType dtype : List.of(DType.F32, DType.BF16, DType.F16, DType.I8)) {
            calls.put("decode_" + dtype, decode(cpu, dtype, key, query.slice(2, 0, 1), output.slice(2, 0, 1)));
        }
        return calls;
    }

    private static Runnable decode(Compute cpu, DType dtype, Tensor key, Tensor query, Tensor output) {
        KeyValueCache cache =
                KeyValueCache.contiguous(KeyValueCache.Config.of(1, 2, 64).withFormat(CacheFormat.of(dtype)), 1, 512);
        for (int i = 0; i < 4; i++) {
            cache.append(cpu, 0, 0, key, key);
        }
        KeyValueView view = cache.view(0, 0);
        AttentionOutputs outputs = AttentionOutputs.of(output);
        return () -> Attention.forward(cpu, query, view, outputs, AttentionOptions.CAUSAL);
    }

    private static Tensor tensor(Arena arena, boolean nativeMemory, long... dims) {
        float[] values = new float[(int) Arrays.stream(dims).reduce(1, Math::multiplyExact)];
        Random random = new Random(values.length);
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian();
        }
        Tensor heap = Tensor.of(values, dims);
        return nativeMemory ? heap.copy(arena, DType.F32) : heap;
    }

    private static long fastest(Runnable call) {
        long fastest = Long.MAX_VALUE;
        for (long start = System.nanoTime(); System.nanoTime() - start < TIMED_NANOS; ) {
            long before = System.nanoTime();
            call.run();
            fastest = Math.min(fastest, System.nanoTime() - before);
        }
        return fastest;
    }
}

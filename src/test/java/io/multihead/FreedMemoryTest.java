package io.multihead;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.attention.ScoreOptions;
import io.multihead.attention.ScoreStage;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.nn.Pass;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.support.ChildJvm;
import io.multihead.support.NativeMemory;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Closing an object frees every byte of its native memory without a garbage collection. A garbage collection frees the memory of objects
 * that are not closed. The test does not run at every lane width, because freeing memory does not depend on vectors.
 */
@Execution(ExecutionMode.CONCURRENT)
class FreedMemoryTest {
    private static final int CALLERS = 3;
    private static final int ABANDONED = 1;

    @Test
    void nativeMemoryIsFreed() throws IOException, InterruptedException {
        assertEquals(
                List.of("result: garbage", "result: arenas", "result: computes"),
                ChildJvm.run(FreedMemoryTest.class, List.of(NativeMemory.TRACKING)).stream()
                        .filter(line -> line.startsWith("result: "))
                        .toList());
    }

    /**
     * Runs the scenarios in a separate JVM, which ends with an exception if memory is still allocated. The last scenario runs last because
     * a garbage collection frees the memory of its layers, which would disturb the measurement of another scenario. The first two scenarios
     * leave no such memory.
     */
    public static void main(String[] arguments) throws Exception {
        garbageFreesWhatNobodyCloses();
        System.out.println("result: garbage");
        closedArenasFreeCachesAndWeights();
        System.out.println("result: arenas");
        closedComputesFreeScratch();
        System.out.println("result: computes");
    }

    private static void requireLevel(long expected, long actual, String what) {
        if (actual != expected) {
            throw new IllegalStateException(
                    what + ": " + (actual - expected) + " more bytes of native memory than before; expected 0");
        }
    }

    /** Operands for one call of each kind that uses scratch memory. One thread at a time uses them. */
    private static final class Calls {
        private final Tensor query;
        private final Tensor keys;
        private final Tensor token;
        private final Tensor out;
        private final Tensor tokenOut;
        private final Tensor scores;
        private final Tensor logSumExp;
        private final AttentionGradients gradients;
        private final Tensor a;
        private final Tensor b;
        private final Tensor c;
        private final PackedWeights packed;
        private final Tensor x;
        private final Tensor y;
        private final TransformerBlock block;
        private final KeyValueCache cache;

        Calls(Arena arena) {
            query = zeros(arena, 2, 4, 130, 64);
            keys = Tensor.zeros(arena, DType.BF16, 2, 2, 300, 64);
            out = zeros(arena, 2, 4, 130, 64);
            scores = zeros(arena, 2, 4, 130, 300);
            logSumExp = Tensor.zeros(arena, DType.F64, 2, 4, 130);
            gradients = AttentionGradients.of(
                    zeros(arena, 2, 4, 130, 64), zeros(arena, 2, 2, 300, 64), zeros(arena, 2, 2, 300, 64));
            a = zeros(arena, 100, 300);
            b = zeros(arena, 300, 200);
            c = zeros(arena, 100, 200);
            packed = PackedWeights.ofInputRows(arena, b);
            x = zeros(arena, 2, 40, 64);
            y = zeros(arena, 2, 40, 64);
            block = TransformerBlock.initialize(arena, TransformerBlock.Config.of(64, 4, 128), 1);
            // there are more keys than in one split, so that a decode step is divided
            cache = KeyValueCache.contiguous(
                    arena, KeyValueCache.Config.of(1, 2, 64).withFormat(CacheFormat.I8), 1, 2100);
            token = zeros(arena, 1, 2, 2100, 64);
            tokenOut = zeros(arena, 1, 4, 1, 64);
        }

        private static Tensor zeros(Arena arena, long... dims) {
            return Tensor.zeros(arena, DType.F32, dims);
        }

        /** Makes all calls except those that create objects whose memory only the garbage collector frees. */
        void run(Compute cpu) {
            AttentionOutputs outputs = AttentionOutputs.of(out).withLogSumExp(logSumExp);
            Attention.forward(cpu, query, keys, keys, outputs, AttentionOptions.DEFAULT);
            AttentionPass pass = new AttentionPass(query, keys, keys, outputs, AttentionOptions.DEFAULT);
            Attention.backward(cpu, pass, out, gradients);
            AttentionOutputs withScores = AttentionOutputs.of(out).withScores(scores, ScoreStage.WEIGHTS);
            Attention.forward(cpu, query, keys, keys, withScores, AttentionOptions.DEFAULT);
            cache.truncate(0, 0);
            cache.append(cpu, 0, 0, token, token);
            Tensor step = query.slice(0, 0, 1).slice(2, 0, 1);
            Attention.forward(cpu, step, cache.view(0, 0), AttentionOutputs.of(tokenOut), AttentionOptions.CAUSAL);
            // the second call needs more panels and replaces the scratch memory of the first
            Gemm.multiply(cpu, a, b.slice(1, 0, 30), c.slice(1, 0, 30), GemmOptions.DEFAULT);
            Gemm.multiply(cpu, a, b, c, GemmOptions.DEFAULT);
            Gemm.multiply(cpu, a, packed, c, GemmOptions.DEFAULT);
            block.forward(cpu, x, y);
        }

        /** Makes a call with a score modifier, which runs {@code inside} once during the call. */
        void run(Compute cpu, Runnable inside) {
            AtomicBoolean first = new AtomicBoolean(true);
            ScoreOptions modified = ScoreOptions.NONE.withModifier((batch, head, row, key, score) -> {
                if (first.getAndSet(false)) {
                    inside.run();
                }
                return score;
            });
            Attention.forward(cpu, query, keys, keys, out, AttentionOptions.DEFAULT.withScores(modified));
        }

        void train(Compute cpu) {
            try (Pass pass = block.record(cpu, x, y, 1)) {
                pass.backward(x, x.copy(Arena.ofAuto(), DType.F32));
            }
        }
    }

    private static void closedComputesFreeScratch() throws Exception {
        try (Arena arena = Arena.ofShared();
                ExecutorService callers = Executors.newFixedThreadPool(CALLERS)) {
            List<Calls> calls = new ArrayList<>();
            for (int caller = 0; caller < CALLERS; caller++) {
                calls.add(new Calls(arena));
                try (Compute cpu = Compute.serial()) {
                    calls.getLast().run(cpu); // layers pack their weights
                }
            }
            for (int threads : new int[] {1, 4}) {
                for (End end : End.values()) {
                    check(callers, calls, Compute.threads(threads), end, threads + " threads, ");
                    try (ExecutorService helpers = Executors.newFixedThreadPool(threads)) {
                        check(callers, calls, Compute.on(helpers, threads), end, threads + " threads of an executor, ");
                    }
                }
            }
        }
    }

    /** When the scratch memory of a Compute is freed. */
    private enum End {
        CLOSED,
        CLOSED_WITHIN_CALLS,
        TRIMMED
    }

    private static void check(ExecutorService callers, List<Calls> calls, Compute cpu, End end, String kind)
            throws Exception {
        long before = NativeMemory.allocated();
        // each of several concurrent calls has a separate workspace
        CyclicBarrier together = new CyclicBarrier(CALLERS, end == End.CLOSED_WITHIN_CALLS ? cpu::close : null);
        List<Future<?>> running = new ArrayList<>();
        for (Calls call : calls) {
            running.add(callers.submit(() -> {
                call.run(cpu);
                call.run(cpu, () -> await(together));
            }));
        }
        for (Future<?> call : running) {
            call.get();
        }
        if (end != End.CLOSED_WITHIN_CALLS && NativeMemory.allocated() == before) {
            throw new IllegalStateException("calls: no native memory; expected panels of each caller");
        }
        if (end == End.TRIMMED) {
            cpu.trim();
        } else {
            cpu.close();
        }
        // a thread frees its workspace when it is idle, and a helper thread returns its workspace after the call has
        // returned
        long after = NativeMemory.after(end == End.TRIMMED ? cpu::trim : () -> {}, bytes -> bytes == before);
        requireLevel(before, after, kind + end);
        cpu.close();
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void closedArenasFreeCachesAndWeights() {
        // the objects stay reachable, so that a garbage collection does not free their memory
        List<Object> kept = new ArrayList<>();
        // one thread only: a second thread could join a loop, and allocate its scratch memory, at any time
        try (Arena operands = Arena.ofShared();
                Compute cpu = Compute.serial()) {
            Tensor tokens = Calls.zeros(operands, 1, 2, 300, 40);
            Tensor out = Calls.zeros(operands, 1, 2, 300, 40);
            Tensor matrix = Calls.zeros(operands, 300, 40);
            Tensor product = Calls.zeros(operands, 300, 300);
            for (DType dtype : new DType[] {DType.F32, DType.BF16, DType.F16, DType.I8}) {
                KeyValueCache.Config config = KeyValueCache.Config.of(1, 2, 40).withFormat(CacheFormat.of(dtype));
                Consumer<Arena> use = arena -> {
                    KeyValueCache contiguous = KeyValueCache.contiguous(arena, config, 1, 1000);
                    fill(cpu, contiguous, 0, tokens, out);
                    KeyValueCache paged = KeyValueCache.paged(arena, config, 1 << 22);
                    int sequence = paged.open();
                    fill(cpu, paged, sequence, tokens, out);
                    fill(cpu, paged, paged.fork(sequence), tokens, out);
                    PackedWeights weights = PackedWeights.ofOutputRows(arena, matrix);
                    Gemm.multiply(cpu, matrix, weights, product, GemmOptions.DEFAULT);
                    kept.addAll(List.of(contiguous, paged, weights));
                };
                use.accept(operands); // scratch memory
                long before = NativeMemory.allocated();
                try (Arena arena = Arena.ofShared()) {
                    use.accept(arena);
                }
                requireLevel(before, NativeMemory.allocated(), "caches of " + dtype + " and weights");
            }
        }
        Reference.reachabilityFence(kept);
    }

    private static void fill(Compute cpu, KeyValueCache cache, int sequence, Tensor tokens, Tensor out) {
        cache.append(cpu, 0, sequence, tokens, tokens);
        Attention.forward(cpu, tokens, cache.view(0, sequence), AttentionOutputs.of(out), AttentionOptions.CAUSAL);
    }

    private static void garbageFreesWhatNobodyCloses() throws Exception {
        try (Arena arena = Arena.ofShared()) {
            Tensor x = Calls.zeros(arena, 64, 64);
            Tensor y = Calls.zeros(arena, 64, 64);
            multiply(x, y);
            long before = NativeMemory.allocated();
            abandon();
            long most = NativeMemory.allocated();
            long after = NativeMemory.after(
                    () -> {
                        System.gc();
                        multiply(x, y); // allocating scratch memory frees the scratch memory of unreachable objects
                    },
                    bytes -> bytes == before);
            if (most <= before) {
                throw new IllegalStateException("abandoned: no native memory; expected some");
            }
            requireLevel(before, after, "garbage");
        }
    }

    private static void multiply(Tensor x, Tensor y) {
        try (Compute cpu = Compute.serial()) {
            Gemm.multiply(cpu, x, x, y, GemmOptions.DEFAULT);
        }
    }

    private static void abandon() {
        for (int i = 0; i < ABANDONED; i++) {
            for (Compute cpu : List.of(Compute.serial(), Compute.threads(3))) {
                Calls calls = new Calls(Arena.ofAuto());
                calls.run(cpu);
                calls.train(cpu);
                KeyValueCache.paged(KeyValueCache.Config.of(1, 2, 64), 1 << 24);
            }
        }
    }
}

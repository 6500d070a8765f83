package io.multihead;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.attention.Attention;
import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.attention.AttentionSplits;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.attention.ScoreStage;
import io.multihead.attention.Softmax;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.NewTokens;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.nn.Gelu;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Relu;
import io.multihead.nn.RmsNorm;
import io.multihead.position.Rope;
import io.multihead.position.RopeSections;
import io.multihead.position.TokenAngles;
import io.multihead.support.Patience;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Warm calls allocate nothing on the heap, and their scratch memory does not grow with the square of the length. */
class SteadyStateTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @Test
    void warmCallsAllocateNothing() {
        try (Arena arena = Arena.ofShared();
                Compute serial = Compute.serial();
                Compute threads = Compute.threads(2)) {
            Tensor q = Tensor.allocate(arena, DType.F32, Shape.of(2, 4, 33, 40));
            Tensor k = Tensor.allocate(arena, DType.BF16, Shape.of(2, 2, 70, 40));
            Tensor out = Tensor.allocate(arena, DType.F32, q.shape());
            Tensor bias = Tensor.allocate(arena, DType.F32, Shape.of(33, 70));
            AttentionOptions masked = AttentionOptions.CAUSAL.withMask(Mask.CAUSAL.and(Mask.bias(bias)));
            Tensor a = Tensor.allocate(arena, DType.F32, Shape.of(9, 40));
            Tensor b = Tensor.allocate(arena, DType.F32, Shape.of(40, 50));
            Tensor c = Tensor.allocate(arena, DType.F32, Shape.of(9, 50));
            Tensor c2 = Tensor.allocate(arena, DType.F32, Shape.of(9, 50));
            PackedWeights packed = PackedWeights.ofInputRows(b);
            Rope rope = Rope.of(Rope.Config.of(40));
            settles("attention", () -> Attention.forward(serial, q, k, k, out, AttentionOptions.CAUSAL));
            settles("masked attention", () -> Attention.forward(serial, q, k, k, out, masked));
            settles("threaded attention", () -> Attention.forward(threads, q, k, k, out, AttentionOptions.DEFAULT));
            KeyValueCache.Config narrow = KeyValueCache.Config.of(1, 2, 40).withFormat(CacheFormat.BF16);
            KeyValueCache cache = KeyValueCache.contiguous(narrow.withRopes(rope), 2, 256);
            cache.append(serial, 0, new int[] {0, 1}, k, k);
            KeyValueView view = cache.view(0, 0, 1);
            AttentionOutputs outputs = AttentionOutputs.of(out);
            AttentionOptions window = AttentionOptions.CAUSAL
                    .withMask(Mask.CAUSAL.and(Mask.window(9, 0)))
                    .withScores(ScoreOptions.NONE.withSoftCap(30).withSinks(1f, 2f, 3f, 4f));
            settles("cached attention", () -> Attention.forward(serial, q, view, outputs, AttentionOptions.CAUSAL));
            settles("windowed attention", () -> Attention.forward(threads, q, view, outputs, window));
            KeyValueView lengths = KeyValueView.of(k, k, 70, 31);
            AttentionOptions aligned = AttentionOptions.CAUSAL.withMask(
                    Mask.CAUSAL.and(Mask.queryOffset(30, 2)).and(Mask.keyLengths(31)));
            settles("aligned attention", () -> Attention.forward(serial, q, lengths, outputs, aligned));
            KeyValueView shard = KeyValueView.of(k, k).shard(2048);
            Tensor states = Tensor.allocate(arena, DType.F32, AttentionSplits.shape(q, shard));
            AttentionOptions dropped = AttentionOptions.DEFAULT.withDropout(new AttentionDropout(0.1, 1));
            settles("states", () -> AttentionSplits.forward(serial, q, shard, states, AttentionOptions.DEFAULT));
            settles("threaded states", () -> AttentionSplits.forward(threads, q, shard, states, dropped));
            Tensor allScores = Tensor.allocate(arena, DType.F32, Shape.of(2, 4, 33, 70));
            for (ScoreStage stage : ScoreStage.values()) {
                AttentionOutputs scores = outputs.withScores(allScores, stage);
                settles("scores " + stage, () -> Attention.forward(serial, q, k, k, scores, masked));
                settles("cached scores " + stage, () -> Attention.forward(serial, q, view, scores, window));
            }
            Tensor token = Tensor.allocate(arena, DType.F32, Shape.of(1, 2, 1, 40));
            settles("append", () -> {
                rope.apply(serial, token, token, 70);
                cache.append(serial, 0, 1, token, token);
                cache.truncate(1, 70);
            });
            rotates(arena, serial);
            settles("gemm", () -> Gemm.multiply(serial, a, b, c, GemmOptions.DEFAULT));
            settles("packed gemm", () -> Gemm.multiply(threads, a, packed, c, GemmOptions.DEFAULT));
            settles("softmax", () -> Softmax.forward(serial, c, c, null, AttentionOptions.DEFAULT));
            settles("softmax backward", () -> Softmax.backward(serial, c, c2, c2, AttentionOptions.DEFAULT));
        }
    }

    /** One row and a few rows are multiplied by matrices that are not packed, in both storage orders and in f32 and bf16. */
    @Test
    void warmProductsOfAFewRowsAllocateNothing() {
        try (Arena arena = Arena.ofShared();
                Compute serial = Compute.serial();
                Compute threads = Compute.threads(2)) {
            for (int rows : new int[] {1, 3, 8}) {
                Tensor a = Tensor.allocate(arena, DType.F32, Shape.of(rows, 300));
                Tensor c = Tensor.allocate(arena, DType.F32, Shape.of(rows, 75));
                for (DType dtype : new DType[] {DType.F32, DType.BF16}) {
                    Tensor b = Tensor.allocate(arena, dtype, Shape.of(300, 75));
                    Tensor columns =
                            Tensor.allocate(arena, dtype, Shape.of(75, 300)).permute(1, 0);
                    String what = rows + " rows by " + dtype;
                    settles(what, () -> Gemm.multiply(serial, a, b, c, GemmOptions.DEFAULT));
                    settles("threaded " + what, () -> Gemm.multiply(threads, a, b, c, GemmOptions.DEFAULT));
                    settles(what + " columns", () -> Gemm.multiply(serial, a, columns, c, GemmOptions.DEFAULT));
                }
            }
        }
    }

    /** These layers need no allocation per call, because their parts were checked when the layers were created. */
    @Test
    void warmNormsAndActivationsAllocateNothing() {
        try (Arena arena = Arena.ofShared();
                Compute serial = Compute.serial();
                Compute threads = Compute.threads(2)) {
            Tensor x = Tensor.allocate(arena, DType.F32, Shape.of(2, 5, 70));
            Tensor y = Tensor.allocate(arena, DType.BF16, x.shape());
            RmsNorm rms = RmsNorm.initialize(arena, Shape.of(70), 1e-6);
            LayerNorm layer = LayerNorm.initialize(arena, Shape.of(5, 70), 1e-5);
            Gelu gelu = Gelu.erf();
            Relu relu = Relu.of();
            for (Compute cpu : new Compute[] {serial, threads}) {
                settles("RMS norm", () -> rms.forward(cpu, x, y));
                settles("layer norm over two axes", () -> layer.forward(cpu, x, y));
                settles("GELU", () -> gelu.forward(cpu, x, y));
                settles("ReLU", () -> relu.forward(cpu, x, y));
            }
        }
    }

    /** Several heads are read at once if they are adjacent within a token and each fills whole panels. */
    @Test
    void warmAttentionOfAdjacentHeadsAllocatesNothing() {
        try (Arena arena = Arena.ofShared();
                Compute serial = Compute.serial();
                Compute threads = Compute.threads(2)) {
            Tensor q = tokensFirst(arena, DType.F32, 33, 4);
            Tensor k = tokensFirst(arena, DType.F32, 70, 4);
            Tensor grouped = tokensFirst(arena, DType.BF16, 70, 2);
            Tensor out = tokensFirst(arena, DType.F32, 33, 4);
            AttentionOutputs withSums =
                    AttentionOutputs.of(out).withLogSumExp(Tensor.allocate(arena, DType.F64, Shape.of(2, 4, 33)));
            settles("adjacent heads", () -> Attention.forward(serial, q, k, k, out, AttentionOptions.DEFAULT));
            settles("causal adjacent heads", () -> Attention.forward(serial, q, k, k, out, AttentionOptions.CAUSAL));
            settles(
                    "threaded adjacent heads",
                    () -> Attention.forward(threads, q, k, k, out, AttentionOptions.DEFAULT));
            settles(
                    "grouped adjacent heads",
                    () -> Attention.forward(serial, q, grouped, grouped, withSums, AttentionOptions.CAUSAL));
        }
    }

    private static Tensor tokensFirst(Arena arena, DType dtype, int tokens, int heads) {
        return Tensor.allocate(arena, dtype, Shape.of(2, tokens, heads, 32)).permute(0, 2, 1, 3);
    }

    /** Calls with a mask, a scale, other strides or the logarithm take the general path, which copies each row. */
    @Test
    void warmSoftmaxAllocatesNothing() {
        try (Arena arena = Arena.ofConfined();
                Compute cpu = Compute.serial()) {
            Tensor x = Tensor.allocate(arena, DType.F32, Shape.of(3, 9, 50));
            Tensor y = Tensor.allocate(arena, DType.F32, x.shape());
            Tensor half = Tensor.allocate(arena, DType.BF16, Shape.of(3, 50, 9)).transpose(1, 2);
            Tensor sums = Tensor.allocate(arena, DType.F32, Shape.of(3, 9));
            AttentionOptions plain = AttentionOptions.DEFAULT;
            AttentionOptions scaled = plain.withScale(0.3);
            AttentionOptions biased =
                    plain.withMask(Mask.CAUSAL.and(Mask.bias(Tensor.allocate(arena, DType.F32, Shape.of(9, 50)))));
            settles("softmax with log-sum-exp", () -> Softmax.forward(cpu, x, y, sums, plain));
            settles("causal softmax", () -> Softmax.forward(cpu, x, y, null, AttentionOptions.CAUSAL));
            settles("scaled softmax", () -> Softmax.forward(cpu, x, y, null, scaled));
            settles("biased softmax", () -> Softmax.forward(cpu, x, y, sums, biased));
            settles("strided softmax", () -> Softmax.forward(cpu, half, y, null, plain));
            settles("log-softmax", () -> Softmax.logForward(cpu, x, y, null, plain));
            settles("log-softmax in place", () -> Softmax.logForward(cpu, y, y, null, plain));
            settles("biased log-softmax", () -> Softmax.logForward(cpu, x, y, sums, biased));
        }
    }

    @Test
    void warmProductsWithActivationsAllocateNothing() {
        try (Arena arena = Arena.ofShared();
                Compute serial = Compute.serial();
                Compute threads = Compute.threads(2)) {
            Tensor a = Tensor.allocate(arena, DType.F32, Shape.of(9, 40));
            Tensor b = Tensor.allocate(arena, DType.F32, Shape.of(40, 50));
            Tensor c = Tensor.allocate(arena, DType.F32, Shape.of(9, 50));
            PackedWeights packed = PackedWeights.ofInputRows(b);
            for (Activation activation : Activation.values()) {
                GemmOptions options = GemmOptions.DEFAULT.withActivation(activation);
                settles("gemm with " + activation, () -> Gemm.multiply(serial, a, b, c, options));
                settles("packed gemm with " + activation, () -> Gemm.multiply(threads, a, packed, c, options));
            }
        }
    }

    /** Keys in i8 with a scale per block are widened for many rows and read in place for one row. Appending them is tested, too. */
    @Test
    void keysInBlocksAllocateNothing() {
        try (Arena arena = Arena.ofShared();
                Compute serial = Compute.serial()) {
            Tensor q = Tensor.allocate(arena, DType.F32, Shape.of(2, 4, 33, 40));
            Tensor k = Tensor.allocate(arena, DType.F32, Shape.of(2, 2, 70, 40));
            Tensor out = Tensor.allocate(arena, DType.F32, q.shape());
            Tensor token = k.slice(0, 0, 1).slice(2, 0, 1);
            Tensor last = q.slice(2, 32, 33);
            AttentionOutputs all = AttentionOutputs.of(out);
            AttentionOutputs one = AttentionOutputs.of(out.slice(2, 32, 33));
            KeyValueCache cache = KeyValueCache.contiguous(
                    KeyValueCache.Config.of(1, 2, 40).withFormat(CacheFormat.I8_BLOCKS), 2, 256);
            cache.append(serial, 0, new int[] {0, 1}, k, k);
            KeyValueView view = cache.view(0, 0, 1);
            settles("keys in blocks", () -> {
                Attention.forward(serial, q, view, all, AttentionOptions.CAUSAL);
                Attention.forward(serial, last, view, one, AttentionOptions.CAUSAL);
                cache.truncate(1, 69);
                cache.append(serial, 0, 1, token, token);
            });
        }
    }

    /** Tests rotation by positions per sequence and stream, by tables, by angles of tokens, and while tokens are appended to a cache. */
    private static void rotates(Arena arena, Compute cpu) {
        Tensor x = Tensor.allocate(arena, DType.BF16, Shape.of(2, 3, 33, 40));
        Tensor table = Tensor.allocate(arena, DType.F32, Shape.of(70, 20));
        Rope rope = Rope.of(Rope.Config.of(40)).withSections(RopeSections.interleaved(8, 6, 6));
        Rope tables = Rope.ofTables(table, table, Rope.Pairing.INTERLEAVED);
        TokenAngles angles = TokenAngles.of(
                table.slice(0, 0, 66).reshape(2, 33, 20),
                table.slice(0, 4, 70).reshape(2, 33, 20),
                Rope.Pairing.HALF_SPLIT);
        long[] positions = LongStream.range(0, 3 * 66).map(i -> i * 7 % 70).toArray();
        long[] perSequence = Arrays.copyOf(positions, 66);
        KeyValueCache cache =
                KeyValueCache.contiguous(KeyValueCache.Config.of(1, 3, 40).withRopes(rope), 2, 64);
        NewTokens tokens = NewTokens.of(x, x).withPositions(positions);
        int[] both = {0, 1};
        settles("rope", () -> {
            rope.apply(cpu, x, x, positions);
            rope.applyInverse(cpu, x, x, perSequence);
            tables.apply(cpu, x, x, perSequence);
            angles.apply(cpu, x, x);
            angles.applyInverse(cpu, x, x);
        });
        settles("append with positions", () -> {
            cache.append(cpu, 0, both, tokens);
            cache.truncate(0, 0);
            cache.truncate(1, 0);
        });
    }

    /** The check for duplicate sequences must enlarge its memory for this number of sequences. */
    @Test
    void warmAppendsToManySequencesAllocateNothing() {
        try (Arena arena = Arena.ofConfined();
                Compute cpu = Compute.serial()) {
            KeyValueCache cache = KeyValueCache.paged(KeyValueCache.Config.of(1, 2, 8), 1 << 20);
            int[] all = IntStream.range(0, 200).map(i -> cache.open()).toArray();
            int[] last = {199};
            Tensor none = Tensor.allocate(arena, DType.F32, Shape.of(200, 2, 0, 8));
            Tensor one = none.slice(0, 0, 1);
            settles("append to 200 sequences", () -> {
                cache.append(cpu, 0, all, none, none);
                cache.append(cpu, 0, last, one, one);
            });
        }
    }

    /** With 16 times the keys and queries, only the scratch for packed keys and values may grow. */
    @Test
    void scratchGrowsOnlyByPackedKeys() {
        settlesForScratch();
        long small = leastColdBytes(512);
        long large = leastColdBytes(8192);
        long packed = 8192L * (32 + 32) * Float.BYTES;
        assertTrue(large <= small + packed + packed / 10, "scratch for 512: " + small + ", for 8192: " + large);
    }

    /**
     * Backward keeps the queries and output gradients of a group packed. This takes at most 1 KiB per query row of 16 features, and no
     * memory grows with L^2.
     */
    @Test
    void scratchOfBackwardIsLinear() {
        Tensor x = Tensor.of(new float[512 * 16], 1, 1, 512, 16);
        Compute cpu = Compute.serial();
        settlesBelow(64 << 10, () -> backward(cpu, x));
        long small = coldBackwardBytes(512);
        long large = coldBackwardBytes(8192);
        assertTrue(large <= small + 8192L * 1024, "scratch for 512: " + small + ", for 8192: " + large);
    }

    /**
     * Repeats a call until C2 has compiled it, after which vectors are not objects. A few small objects per call remain, which describe the
     * backward pass.
     */
    private static void settlesBelow(long limit, LongSupplier call) {
        long bytes = Long.MAX_VALUE;
        for (Patience patience = new Patience(); bytes > limit && patience.isLeft(); ) {
            bytes = call.getAsLong();
        }
        assertTrue(bytes <= limit, "a warm backward still allocates " + bytes);
    }

    private static long coldBackwardBytes(int length) {
        try (Arena arena = Arena.ofConfined()) {
            Tensor x = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, length, 16));
            Compute cpu = Compute.serial();
            return backward(cpu, x) + cpu.heldBytes();
        }
    }

    /** Returns the bytes that backward allocates on the calling thread. */
    private static long backward(Compute cpu, Tensor x) {
        try (Arena arena = Arena.ofConfined()) {
            Tensor[] gradients = new Tensor[3];
            for (int i = 0; i < 3; i++) {
                gradients[i] = Tensor.allocate(arena, DType.F32, x.shape());
            }
            AttentionOutputs outputs = AttentionOutputs.of(Tensor.allocate(arena, DType.F32, x.shape()))
                    .withLogSumExp(Tensor.allocate(arena, DType.F64, Shape.of(1, 1, x.dim(2))));
            Attention.forward(Compute.serial(), x, x, x, outputs, AttentionOptions.CAUSAL);
            AttentionPass pass = new AttentionPass(x, x, x, outputs, AttentionOptions.CAUSAL);
            AttentionGradients to = AttentionGradients.of(gradients[0], gradients[1], gradients[2]);
            long before = THREADS.getCurrentThreadAllocatedBytes();
            Attention.backward(cpu, pass, x, to);
            return THREADS.getCurrentThreadAllocatedBytes() - before;
        }
    }

    /** Repeats the call until C2 has compiled it. Before that, vectors are objects and need more memory than the scratch. */
    private static void settlesForScratch() {
        // there are 2048 keys, so that splits are merged
        Tensor q = Tensor.of(new float[2048 * 16], 1, 1, 2048, 16);
        Tensor out = Tensor.of(new float[2048 * 16], 1, 1, 2048, 16);
        Compute cpu = Compute.serial();
        settles("attention", () -> Attention.forward(cpu, q, q, q, out, AttentionOptions.DEFAULT));
    }

    /**
     * Returns the minimum of three calls, each with separate scratch. Growing scratch would increase all three. C2 may discard code during
     * one call; vectors are then objects until C2 has compiled the path again (14 MB in one run with the serial collector).
     */
    private static long leastColdBytes(int length) {
        return LongStream.range(0, 3).map(i -> coldBytes(length)).min().orElseThrow();
    }

    private static long coldBytes(int length) {
        try (Arena arena = Arena.ofConfined()) {
            Tensor q = Tensor.allocate(arena, DType.F32, Shape.of(1, 1, length, 16));
            Tensor out = Tensor.allocate(arena, DType.F32, q.shape());
            try (Compute cpu = Compute.serial()) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                Attention.forward(cpu, q, q, q, out, AttentionOptions.DEFAULT);
                // only the Compute counts native panels; arrays are counted twice, which is harmless because their size
                // does not depend on the length
                return THREADS.getCurrentThreadAllocatedBytes() - before + cpu.heldBytes();
            }
        }
    }

    private static void settles(String what, Runnable call) {
        assertEquals(0, WarmCalls.allocatedBytes(call), what + " still allocates");
    }
}

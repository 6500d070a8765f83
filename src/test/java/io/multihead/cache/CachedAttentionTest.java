package io.multihead.cache;

import static io.multihead.support.Reachability.assertCollected;
import static io.multihead.support.Tokens.DIM;
import static io.multihead.support.Tokens.HEADS;
import static io.multihead.support.Tokens.KEYS;
import static io.multihead.support.Tokens.KV_HEADS;
import static io.multihead.support.Tokens.attend;
import static io.multihead.support.Tokens.config;
import static io.multihead.support.Tokens.gaussian;
import static io.multihead.support.Tokens.tokens;
import static io.multihead.support.Tokens.zeros;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreModifier;
import io.multihead.attention.ScoreOptions;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.CacheModel;
import io.multihead.support.Numbers;
import io.multihead.support.Promises;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Attention over a cache is exact for equal values. Truncated tokens, NaN in other rows and simultaneous callers do not change results. */
@Tag("lanes")
class CachedAttentionTest {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static double worstNarrow;

    private final Tensor query = gaussian(1, HEADS, KEYS, DIM, 1);
    private final Tensor key = gaussian(1, KV_HEADS, KEYS, DIM, 2);
    private final Tensor value = gaussian(1, KV_HEADS, KEYS, DIM, 3);

    @AfterAll
    static void close() {
        THREADS.close();
        Promises.NARROW_CACHE.record(worstNarrow);
    }

    /** Truncated tokens and masked keys do not change any bit, even if they are NaN or infinite. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "BF16", "F16", "I8"})
    void garbageBehindTheEndChangesNoBit(DType dtype) {
        Tensor spoiltKey = zeros(1, KV_HEADS, 40, DIM);
        Tensor spoiltValue = zeros(1, KV_HEADS, 40, DIM);
        Numbers.fill(spoiltKey, () -> Double.NaN);
        Numbers.fill(spoiltValue, () -> Double.NEGATIVE_INFINITY);
        double[][] results = new double[2][];
        for (int i = 0; i < 2; i++) {
            KeyValueCache cache = KeyValueCache.paged(config(dtype), 1L << 23);
            int sequence = cache.open();
            cache.append(SERIAL, 0, sequence, tokens(key, 0, 300), tokens(value, 0, 300));
            if (i == 1) {
                cache.append(SERIAL, 0, sequence, spoiltKey, spoiltValue);
                cache.truncate(sequence, 300);
            }
            results[i] = attend(SERIAL, tokens(query, 0, 9), cache.view(0, sequence), AttentionOptions.CAUSAL);
            // the window masks these tokens, which are not finite in the second run
            cache.append(
                    SERIAL,
                    0,
                    sequence,
                    i == 1 ? spoiltKey : tokens(key, 0, 40),
                    i == 1 ? spoiltValue : tokens(value, 0, 40));
            cache.append(SERIAL, 0, sequence, tokens(key, 300, 20), tokens(value, 300, 20));
            AttentionOptions window = AttentionOptions.DEFAULT.withMask(Mask.window(9, 0));
            double[] after = attend(SERIAL, tokens(query, 0, 9), cache.view(0, sequence), window);
            results[i] = java.util.stream.DoubleStream.concat(Arrays.stream(results[i]), Arrays.stream(after))
                    .toArray();
        }
        assertArrayEquals(results[0], results[1]);
    }

    /**
     * Some tasks see the page of the infinite value and pack its block. A later task of the same thread reads its part of the block in
     * place.
     */
    @Test
    void anInfiniteValueReachesExactlyTheRowsThatSeeItInAnyOrderOfTasks() {
        Tensor few = tokens(key, 0, 400).slice(1, 0, 1);
        Tensor infinite = gaussian(1, 1, 400, DIM, 5);
        infinite.set(Float.POSITIVE_INFINITY, 0, 0, 390, 0);
        KeyValueCache cache = KeyValueCache.paged(Config.of(1, 1, DIM), 1L << 22);
        int sequence = cache.open();
        cache.append(SERIAL, 0, sequence, few, infinite);
        Tensor two = tokens(query, 0, 400).slice(1, 0, 2);
        Tensor expected = zeros(1, 2, 400, DIM);
        Attention.forward(SERIAL, two, few, infinite, expected, AttentionOptions.CAUSAL);
        assertArrayEquals(Numbers.of(expected), attend(SERIAL, two, cache.view(0, sequence), AttentionOptions.CAUSAL));
    }

    /** A task of one row has the same weights as a task of two rows, in one block of keys and in several. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "BF16", "F16", "I8"})
    void weightsOfOneQueryAreThoseBesideAnother(DType dtype) {
        KeyValueCache cache = KeyValueCache.contiguous(config(dtype), 1, KEYS);
        for (int keys : new int[] {1, 5, 250, 600}) {
            cache.truncate(0, 0);
            cache.append(SERIAL, 0, 0, tokens(key, 0, keys), tokens(value, 0, keys));
            double[] alone = weights(tokens(query, 0, 1).slice(1, 0, KV_HEADS), cache.view(0, 0), keys);
            double[] both = weights(tokens(query, 0, 2).slice(1, 0, KV_HEADS), cache.view(0, 0), keys);
            for (int head = 0; head < KV_HEADS; head++) {
                assertArrayEquals(
                        Arrays.copyOfRange(both, 2 * head * keys, (2 * head + 1) * keys),
                        Arrays.copyOfRange(alone, head * keys, (head + 1) * keys));
            }
        }
    }

    private static double[] weights(Tensor queries, KeyValueView view, int keys) {
        long rows = queries.shape().dim(2);
        Tensor weights = zeros(1, KV_HEADS, rows, keys);
        AttentionOutputs outputs =
                AttentionOutputs.of(zeros(1, KV_HEADS, rows, DIM)).withWeights(weights);
        try (Compute fresh = Compute.threads(1)) {
            Attention.forward(fresh, queries, view, outputs, AttentionOptions.DEFAULT);
        }
        return Numbers.of(weights);
    }

    /** Attention over a narrow cache is compared with the specification over the widened tokens. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"BF16", "F16", "I8"})
    void narrowKeysAreWidenedExactly(DType dtype) {
        KeyValueCache cache = KeyValueCache.contiguous(config(dtype), 1, KEYS);
        cache.append(SERIAL, 0, 0, key, value);
        Tensor last = tokens(query, KEYS - 3, 3);
        double[] actual = attend(SERIAL, last, cache.view(0, 0), AttentionOptions.CAUSAL);
        ReferenceAttention.Result expected = ReferenceAttention.forward(
                last,
                narrowed(key, dtype),
                narrowed(value, dtype),
                (float) (1 / Math.sqrt(DIM)),
                ScoreRule.causal(3, KEYS));
        double ratio = Tolerance.ratio(actual, expected.output(), expected.errorScale(), DType.F32);
        worstNarrow = Math.max(worstNarrow, ratio);
        assertTrue(ratio <= Tolerance.FORWARD_ORDINARY, "R = " + ratio);
    }

    /**
     * Attention over keys with a scale per 32 elements is within the error bound for the widened keys. Few rows, which read keys in place,
     * and many rows, which widen keys, have the same bits.
     */
    @ParameterizedTest
    @ValueSource(ints = {32, 40, 96, 128, 256, 300})
    void keysInBlocksAreWidenedExactly(int dim) {
        Config blocks = Config.of(1, 2, dim).withFormat(CacheFormat.I8_BLOCKS);
        Tensor keys = gaussian(1, 2, 333, dim, 4);
        Tensor values = gaussian(1, 2, 333, dim, 5);
        Tensor queries = gaussian(1, 4, 70, dim, 6);
        for (long token = 0; token < 333; token++) {
            keys.set(50, 0, 1, token, dim - 1); // one large channel enlarges the scale of its block
        }
        KeyValueCache cache = KeyValueCache.paged(blocks, 1L << 23);
        int sequence = cache.open();
        cache.append(SERIAL, 0, sequence, keys, values);
        Tensor widenedKeys = zeros(1, 2, 333, dim);
        Tensor widenedValues = zeros(1, 2, 333, dim);
        CacheContents.of(cache).read(SERIAL, 0, sequence, 0, widenedKeys.select(0, 0), widenedValues.select(0, 0));
        double[] many = attend(SERIAL, queries, cache.view(0, sequence), AttentionOptions.CAUSAL);
        ReferenceAttention.Result expected = ReferenceAttention.forward(
                queries, widenedKeys, widenedValues, (float) (1 / Math.sqrt(dim)), ScoreRule.causal(70, 333));
        double ratio = Tolerance.ratio(many, expected.output(), expected.errorScale(), DType.F32);
        assertTrue(ratio <= Tolerance.FORWARD, "R = " + ratio);
        double[] threads = attend(THREADS, queries, cache.view(0, sequence), AttentionOptions.CAUSAL);
        assertArrayEquals(many, threads);
        for (int few : new int[] {1, 2}) {
            Tensor last = queries.slice(2, 70 - few, 70);
            double[] inPlace = attend(SERIAL, last, cache.view(0, sequence), AttentionOptions.CAUSAL);
            for (int i = 0; i < inPlace.length; i++) {
                int head = i / (few * dim);
                int row = i / dim % few;
                assertEquals(many[(head * 70 + 70 - few + row) * dim + i % dim], inPlace[i], "element " + i);
            }
        }
    }

    private static Tensor narrowed(Tensor tensor, DType dtype) {
        Tensor copy = zeros(tensor.shape().toArray());
        float[] row = new float[DIM];
        for (long h = 0; h < tensor.dim(1); h++) {
            for (long t = 0; t < tensor.dim(2); t++) {
                for (int d = 0; d < DIM; d++) {
                    row[d] = (float) tensor.get(0, h, t, d);
                }
                float[] widened = CacheModel.narrow(row, dtype);
                for (int d = 0; d < DIM; d++) {
                    copy.set(widened[d], 0, h, t, d);
                }
            }
        }
        return copy;
    }

    /** If all values are equal, the output is this value, narrowed once, within 3 ulp of f32. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "BF16", "F16", "I8"})
    void equalValuesComeOutUnchanged(DType dtype) {
        KeyValueCache cache = KeyValueCache.paged(config(dtype), 1L << 23);
        int sequence = cache.open();
        Tensor same = Numbers.fill(zeros(1, KV_HEADS, KEYS, DIM), () -> 1.2345f);
        cache.append(SERIAL, 0, sequence, key, same);
        float[] row = new float[DIM];
        Arrays.fill(row, 1.2345f);
        float expected = CacheModel.narrow(row, dtype)[0];
        double[] actual = attend(SERIAL, tokens(query, 0, 1), cache.view(0, sequence), AttentionOptions.CAUSAL);
        for (double value : actual) {
            assertTrue(Math.abs(value - expected) <= 3 * Math.ulp(expected), value + " for " + expected);
        }
    }

    /** NaN in a value reaches exactly the rows that see it. */
    @Test
    void nanReachesExactlyTheRowsThatSeeIt() {
        KeyValueCache cache = KeyValueCache.paged(config(DType.BF16), 1L << 23);
        int sequence = cache.open();
        Tensor spoilt = zeros(1, KV_HEADS, 200, DIM);
        tokens(value, 0, 200).copyTo(spoilt);
        spoilt.set(Double.NaN, 0, 1, 150, 7);
        cache.append(SERIAL, 0, sequence, tokens(key, 0, 200), spoilt);
        double[] actual = attend(SERIAL, tokens(query, 0, 100), cache.view(0, sequence), AttentionOptions.CAUSAL);
        for (int h = 0; h < HEADS; h++) {
            for (int i = 0; i < 100; i++) {
                for (int d = 0; d < DIM; d++) {
                    boolean sees = h / 2 == 1 && i + 100 >= 150 && d == 7;
                    assertTrue(Double.isNaN(actual[(h * 100 + i) * DIM + d]) == sees, h + " " + i + " " + d);
                }
            }
        }
    }

    /** Keys too large for F16 become infinite and spoil exactly the rows that see them. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"BF16", "F16"})
    void infiniteKeysReachExactlyTheRowsThatSeeThem(DType dtype) {
        for (double spoiler : new double[] {Double.NaN, Double.POSITIVE_INFINITY, 1e6}) {
            KeyValueCache cache = KeyValueCache.paged(config(dtype), 1L << 23);
            int sequence = cache.open();
            Tensor spoilt = zeros(1, KV_HEADS, 200, DIM);
            tokens(key, 0, 200).copyTo(spoilt);
            spoilt.set(spoiler, 0, 1, 150, 7);
            cache.append(SERIAL, 0, sequence, spoilt, tokens(value, 0, 200));
            Tensor keys = narrowed(spoilt, dtype);
            Tensor values = narrowed(tokens(value, 0, 200), dtype);
            for (int row = 100; row < 200; row += 33) {
                cache.truncate(sequence, row < 150 ? 150 : 200);
                Tensor one = tokens(query, row, 1);
                double[] actual = attend(SERIAL, one, cache.view(0, sequence), AttentionOptions.DEFAULT);
                Tensor expected = zeros(1, HEADS, 1, DIM);
                int seen = (int) cache.length(0, sequence);
                Attention.forward(
                        SERIAL,
                        one,
                        tokens(keys, 0, seen),
                        tokens(values, 0, seen),
                        expected,
                        AttentionOptions.DEFAULT);
                assertArrayEquals(Numbers.of(expected), actual, 1e-6);
            }
        }
    }

    /** A cache may have gigabytes, so the scratch of its readers must not keep it reachable. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "BF16", "I8"})
    void nothingKeepsACacheThatIsNotUsed(DType dtype) throws InterruptedException {
        assertCollected(used(dtype));
    }

    @Test
    void nothingKeepsACacheAfterACallThatFailed() throws InterruptedException {
        assertCollected(failed());
    }

    private WeakReference<Object> failed() {
        KeyValueCache cache = KeyValueCache.contiguous(config(DType.F32), 1, KEYS);
        cache.append(SERIAL, 0, 0, key, value);
        ScoreModifier failing = (batch, head, query, key, score) -> {
            throw new UnsupportedOperationException("test");
        };
        AttentionOptions options = AttentionOptions.CAUSAL.withScores(ScoreOptions.NONE.withModifier(failing));
        for (Compute cpu : List.of(SERIAL, THREADS)) {
            assertThrows(UnsupportedOperationException.class, () -> attend(cpu, query, cache.view(0, 0), options));
        }
        return new WeakReference<>(cache.pool().slab(0).segment());
    }

    private WeakReference<Object> used(DType dtype) {
        KeyValueCache cache = KeyValueCache.contiguous(config(dtype), 1, KEYS);
        cache.append(SERIAL, 0, 0, key, value);
        for (Compute cpu : List.of(SERIAL, THREADS)) {
            attend(cpu, tokens(query, KEYS - 1, 1), cache.view(0, 0), AttentionOptions.CAUSAL);
            attend(cpu, query, cache.view(0, 0), AttentionOptions.CAUSAL);
        }
        PanelMemory slab = cache.pool().slab(0);
        return new WeakReference<>(slab.segment());
    }

    /** Simultaneous callers get the same bits as a single caller. */
    @Test
    void simultaneousCallersHaveTheSameBits() throws Exception {
        KeyValueCache cache = KeyValueCache.contiguous(config(DType.BF16), 1, KEYS);
        cache.append(SERIAL, 0, 0, key, value);
        KeyValueView view = cache.view(0, 0);
        Tensor last = tokens(query, KEYS - 1, 1);
        double[] expected = attend(SERIAL, last, view, AttentionOptions.CAUSAL);
        ExecutorService callers = Executors.newFixedThreadPool(24);
        try {
            List<Future<double[]>> results = new ArrayList<>();
            for (int caller = 0; caller < 96; caller++) {
                results.add(callers.submit(() -> attend(THREADS, last, view, AttentionOptions.CAUSAL)));
            }
            for (Future<double[]> result : results) {
                assertArrayEquals(expected, result.get());
            }
        } finally {
            callers.shutdownNow();
        }
    }
}

package io.multihead.cache;

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
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionState;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Attention over sequences of several splits has the same bits in any storage, in any chunks, in any batch and on any number of threads.
 */
@Tag("lanes")
class SequencesTest {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final AttentionOptions WINDOWED = AttentionOptions.CAUSAL
            .withMask(Mask.CAUSAL.and(Mask.window(1500, 0)))
            .withScores(ScoreOptions.NONE
                    .withSoftCap(20)
                    .withSlopes(0.5f, 0.25f, 0.125f, 0.0625f)
                    .withSinks(1f, -1f, 0f, 2f));

    private final Tensor query = gaussian(1, HEADS, KEYS, DIM, 1);
    private final Tensor key = gaussian(1, KV_HEADS, KEYS, DIM, 2);
    private final Tensor value = gaussian(1, KV_HEADS, KEYS, DIM, 3);

    @AfterAll
    static void close() {
        THREADS.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void chunksOfAnySizeHaveTheBitsOfOnePrefill(boolean windowed) {
        AttentionOptions options = windowed ? WINDOWED : AttentionOptions.CAUSAL;
        double[] expected = attend(SERIAL, query, KeyValueView.of(key, value), options);
        for (int[] chunks : new int[][] {{KEYS}, {1000, 24, 1, 1, 300, 1174}, {1, 63, 64, 1900, 1, 471}}) {
            for (Compute cpu : List.of(SERIAL, THREADS)) {
                KeyValueCache cache = KeyValueCache.paged(config(DType.F32), 1L << 23);
                int sequence = cache.open();
                double[] actual = new double[expected.length];
                int first = 0;
                for (int chunk : chunks) {
                    cache.append(cpu, 0, sequence, tokens(key, first, chunk), tokens(value, first, chunk));
                    double[] part = attend(cpu, tokens(query, first, chunk), cache.view(0, sequence), options);
                    for (int h = 0; h < HEADS; h++) {
                        System.arraycopy(part, h * chunk * DIM, actual, (h * KEYS + first) * DIM, chunk * DIM);
                    }
                    first += chunk;
                }
                assertArrayEquals(expected, actual);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "BF16", "F16", "I8"})
    void threadsAndPagesChangeNoBit(DType dtype) {
        double[][] results = new double[4][];
        for (int i = 0; i < 4; i++) {
            KeyValueCache cache = i < 2
                    ? KeyValueCache.contiguous(config(dtype), 1, KEYS)
                    : KeyValueCache.paged(config(dtype), 1L << 23);
            int sequence = i < 2 ? 0 : cache.open();
            cache.append(SERIAL, 0, sequence, key, value);
            Tensor last = tokens(query, KEYS - 1, 1);
            results[i] = attend(i % 2 == 0 ? SERIAL : THREADS, last, cache.view(0, sequence), AttentionOptions.CAUSAL);
        }
        for (int i = 1; i < 4; i++) {
            assertArrayEquals(results[0], results[i]);
        }
    }

    @Test
    void longRowsStayWithinTheBound() {
        Tensor last = tokens(query, KEYS - 3, 3);
        ReferenceAttention.Result expected =
                ReferenceAttention.forward(last, key, value, (float) (1 / Math.sqrt(DIM)), ScoreRule.causal(3, KEYS));
        double[] actual = attend(THREADS, last, KeyValueView.of(key, value), AttentionOptions.CAUSAL);
        double ratio = Tolerance.ratio(actual, expected.output(), expected.errorScale(), DType.F32);
        assertTrue(ratio <= Tolerance.FORWARD_ORDINARY, "R = " + ratio);
    }

    /** Queries in the middle of a cache, positioned by an offset or by a length, have the same bits as with a cache that ends with them. */
    @ParameterizedTest
    @ValueSource(ints = {1, 60})
    void alignedInTheMiddleTheBitsAreThoseOfACacheThatEndsThere(int queries) {
        int end = 2077;
        KeyValueCache cache = KeyValueCache.paged(config(DType.F32), 1L << 23);
        int[] pair = {cache.open(), cache.open()};
        cache.append(SERIAL, 0, pair[0], key, value);
        cache.append(SERIAL, 0, pair[1], tokens(key, 0, end), tokens(value, 0, end));
        Tensor middle = tokens(query, end - queries, queries);
        double[] expected = attend(SERIAL, middle, cache.view(0, pair[1]), WINDOWED);
        for (Mask mask : List.of(Mask.queryOffset(end - queries), Mask.keyLengths(end))) {
            AttentionOptions options = WINDOWED.withMask(WINDOWED.mask().and(mask));
            for (Compute cpu : List.of(SERIAL, THREADS)) {
                assertArrayEquals(expected, attend(cpu, middle, cache.view(0, pair[0]), options));
                double[] both = attend(cpu, middle.broadcast(2, HEADS, queries, DIM), cache.view(0, pair), options);
                assertArrayEquals(expected, Arrays.copyOf(both, expected.length));
                assertArrayEquals(expected, Arrays.copyOfRange(both, expected.length, both.length));
            }
        }
    }

    @Test
    void aBatchOfAnyLengthsHasTheBitsOfEachAlone() {
        int[] lengths = {1, 300, 0, 1700, 256, 64};
        int[] fresh = {1, 5, 0, 1, 256, 2};
        KeyValueCache cache = KeyValueCache.paged(config(DType.BF16), 1L << 23);
        int[] all = new int[lengths.length];
        long[] offsets = new long[lengths.length + 1];
        long[] keyOffsets = new long[lengths.length + 1];
        for (int i = 0; i < lengths.length; i++) {
            all[i] = cache.open();
            cache.append(SERIAL, 0, all[i], tokens(key, i, lengths[i]), tokens(value, i, lengths[i]));
            offsets[i + 1] = offsets[i] + fresh[i];
            keyOffsets[i + 1] = keyOffsets[i] + lengths[i];
        }
        Tensor packed = tokens(query, 0, (int) offsets[lengths.length]);
        Tensor output = zeros(1, HEADS, packed.dim(2), DIM);
        Attention.forward(
                THREADS,
                packed,
                PackedSequences.of(offsets),
                cache.view(0, all),
                AttentionOutputs.of(output),
                AttentionOptions.CAUSAL);
        for (int i = 0; i < lengths.length; i++) {
            Tensor own = packed.slice(2, offsets[i], offsets[i + 1]);
            double[] alone = attend(SERIAL, own, cache.view(0, all[i]), AttentionOptions.CAUSAL);
            assertArrayEquals(alone, Numbers.of(output.slice(2, offsets[i], offsets[i + 1])));
        }
        packedTensorsToo(packed, offsets, lengths, keyOffsets);
    }

    /** Compares keys and values that are packed in tensors, as with {@code cu_seqlens}. */
    private void packedTensorsToo(Tensor packed, long[] offsets, int[] lengths, long[] keyOffsets) {
        Tensor keys = tokens(key, 0, (int) keyOffsets[lengths.length]);
        Tensor values = tokens(value, 0, (int) keyOffsets[lengths.length]);
        Tensor output = zeros(1, HEADS, packed.dim(2), DIM);
        KeyValueView view = KeyValueView.packed(keys, values, PackedSequences.of(keyOffsets));
        Attention.forward(
                SERIAL,
                packed,
                PackedSequences.of(offsets),
                view,
                AttentionOutputs.of(output),
                AttentionOptions.CAUSAL);
        for (int i = 0; i < lengths.length; i++) {
            Tensor own = packed.slice(2, offsets[i], offsets[i + 1]);
            KeyValueView alone = KeyValueView.of(
                    keys.slice(2, keyOffsets[i], keyOffsets[i + 1]), values.slice(2, keyOffsets[i], keyOffsets[i + 1]));
            assertArrayEquals(
                    attend(SERIAL, own, alone, AttentionOptions.CAUSAL),
                    Numbers.of(output.slice(2, offsets[i], offsets[i + 1])));
        }
    }

    @Test
    void pagesOfTheCallerHaveTheBitsOfOneTensor() {
        List<Tensor> keys = new ArrayList<>();
        List<Tensor> values = new ArrayList<>();
        for (int first = 0; first < KEYS; first += 100) {
            keys.add(tokens(key, first, 100).reshape(KV_HEADS, 100, DIM));
            values.add(tokens(value, first, 100).reshape(KV_HEADS, 100, DIM));
        }
        Tensor last = tokens(query, KEYS - 7, 7);
        assertArrayEquals(
                attend(SERIAL, last, KeyValueView.of(key, value), AttentionOptions.CAUSAL),
                attend(THREADS, last, KeyValueView.pages(keys, values, KEYS), AttentionOptions.CAUSAL));
    }

    /** States of both halves of the keys merge to the state of all keys. */
    @Test
    void statesOfHalvesMerge() {
        Tensor few = tokens(query, 0, 5);
        AttentionState whole = state(5);
        AttentionState left = state(5);
        AttentionState right = state(5);
        AttentionState none = state(5);
        Attention.forward(SERIAL, few, KeyValueView.of(key, value), whole.outputs(), AttentionOptions.DEFAULT);
        for (AttentionState part : List.of(left, right, none)) {
            int first = part == left ? 0 : 1100;
            int count = part == left ? 1100 : part == right ? KEYS - 1100 : 0;
            KeyValueView view = KeyValueView.of(tokens(key, first, count), tokens(value, first, count));
            Attention.forward(SERIAL, few, view, part.outputs(), AttentionOptions.DEFAULT);
        }
        AttentionState merged = state(5);
        AttentionState.merge(SERIAL, left, right, merged);
        double[] before = Numbers.of(merged.output());
        AttentionState.merge(SERIAL, none, merged, merged);
        assertArrayEquals(before, Numbers.of(merged.output()));
        ReferenceAttention.Result expected =
                ReferenceAttention.forward(few, key, value, (float) (1 / Math.sqrt(DIM)), ScoreRule.NONE);
        double ratio = Tolerance.ratio(before, expected.output(), expected.errorScale(), DType.F32);
        // the merge adds three roundings: two products and a sum
        assertTrue(ratio <= Tolerance.FORWARD_ORDINARY + 3, "R = " + ratio);
        double[] lse = Numbers.of(merged.logSumExp());
        for (int i = 0; i < lse.length; i++) {
            // the sum of exponentials has a relative error of some tens of roundings, which is the absolute error of
            // its logarithm
            assertTrue(Math.abs(lse[i] - expected.logSumExp()[i]) <= 64 * 0x1p-24, lse[i] + "");
        }
    }

    @Test
    void sayWhatDoesNotFit() {
        KeyValueCache cache = KeyValueCache.contiguous(config(DType.F32), 1, 256);
        KeyValueView view = cache.view(0, 0);
        Tensor wrong = zeros(1, 3, 1, DIM);
        IllegalArgumentException heads = assertThrows(
                IllegalArgumentException.class, () -> attend(SERIAL, wrong, view, AttentionOptions.CAUSAL));
        assertTrue(heads.getMessage().contains("multiple of the 2 heads"), heads.getMessage());
        Tensor two = zeros(2, HEADS, 1, DIM);
        assertThrows(IllegalArgumentException.class, () -> attend(SERIAL, two, view, AttentionOptions.CAUSAL));
        Tensor tooMany = zeros(1, KV_HEADS, 257, DIM);
        CacheFullException full =
                assertThrows(CacheFullException.class, () -> cache.append(SERIAL, 0, 0, tooMany, tooMany));
        assertTrue(full.getMessage().contains("at most 256"), full.getMessage());
        assertThrows(IllegalArgumentException.class, () -> cache.append(SERIAL, 1, 0, key, value));
        assertThrows(IllegalArgumentException.class, () -> cache.truncate(7, 0));
        AttentionOptions sinks = AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSinks(1f));
        Tensor one = zeros(1, HEADS, 1, DIM);
        IllegalArgumentException few =
                assertThrows(IllegalArgumentException.class, () -> attend(SERIAL, one, view, sinks));
        assertTrue(few.getMessage().contains("one per query head of 4"), few.getMessage());
    }

    private static AttentionState state(int queries) {
        return new AttentionState(
                zeros(1, HEADS, queries, DIM),
                Tensor.view(
                        java.lang.foreign.MemorySegment.ofArray(new double[HEADS * queries]),
                        DType.F64,
                        io.multihead.tensor.Shape.of(1, HEADS, queries)));
    }
}

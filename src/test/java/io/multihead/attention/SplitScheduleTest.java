package io.multihead.attention;

import static io.multihead.support.Tokens.gaussian;
import static io.multihead.support.Tokens.zeros;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.support.Numbers;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A few queries see a small part of a long sequence. Several threads compute the same bits as one thread, with scratch only for that part.
 */
@Tag("lanes")
class SplitScheduleTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int HEADS = 4;
    private static final int KV_HEADS = 2;
    private static final int DIM = 24;
    private static final AttentionOptions WINDOW = AttentionOptions.DEFAULT.withMask(Mask.window(1500, 0));

    private final Compute two = Compute.on(Runnable::run, 2);
    private final Compute four = Compute.on(Runnable::run, 4);

    /** Returns keys or values in which all tokens are equal. */
    private static Tensor same(long batch, long keys, long seed) {
        return gaussian(1, KV_HEADS, 1, DIM, seed).broadcast(batch, KV_HEADS, keys, DIM);
    }

    private static double[] attend(
            Compute cpu, Tensor query, PackedSequences queries, KeyValueView view, AttentionOptions options) {
        Tensor output = Numbers.fill(zeros(query.shape().toArray()), () -> 42);
        Tensor logSumExp = Numbers.fill(zeros(query.dim(0), HEADS, query.dim(2)), () -> 42);
        AttentionOutputs outputs = AttentionOutputs.of(output).withLogSumExp(logSumExp);
        if (queries == null) {
            Attention.forward(cpu, query, view, outputs, options);
        } else {
            Attention.forward(cpu, query, queries, view, outputs, options);
        }
        return DoubleStream.concat(DoubleStream.of(Numbers.of(output)), DoubleStream.of(Numbers.of(logSumExp)))
                .toArray();
    }

    private void requireSameBits(Tensor query, PackedSequences queries, KeyValueView view, AttentionOptions options) {
        double[] expected = attend(SERIAL, query, queries, view, options);
        assertArrayEquals(expected, attend(two, query, queries, view, options), "two threads");
        assertArrayEquals(expected, attend(four, query, queries, view, options), "four threads");
    }

    @Test
    void aWindowOverKeysWhoseStatesFitNoArray() {
        // states of all splits of 2^29 keys, for 2 x 2^19 tasks, would have more floats than an array can hold
        KeyValueView view = KeyValueView.of(same(1, (1L << 29) + 300, 2), same(1, (1L << 29) + 300, 3));
        requireSameBits(gaussian(1, HEADS, 12, DIM, 1), null, view, WINDOW);
    }

    @Test
    void keyLengthsOverKeysWhoseSplitsAreNoInt() {
        KeyValueView view = KeyValueView.of(same(1, 1L << 42, 2), same(1, 1L << 42, 3));
        Tensor query = gaussian(1, HEADS, 1, DIM, 1);
        for (long length : new long[] {10, 2500, 0}) {
            requireSameBits(query, null, view, AttentionOptions.DEFAULT.withMask(Mask.keyLengths(length)));
        }
    }

    @Test
    void positionsWhoseSplitsAreNoInt() {
        KeyValueView view = KeyValueView.of(same(1, 1L << 43, 2), same(1, 1L << 43, 3));
        Mask mask = Mask.window(1500, 700).and(Mask.queryOffset((1L << 42) + 5));
        requireSameBits(gaussian(1, HEADS, 3, DIM, 1), null, view, AttentionOptions.DEFAULT.withMask(mask));
    }

    /** The states of all splits of one sequence would exceed an array, one sequence is empty, and one is shorter than its window. */
    @Test
    void tensorsOfSequencesOfDifferentLengths() {
        long longest = (1L << 42) + 100;
        KeyValueView view = KeyValueView.of(same(4, longest, 2), same(4, longest, 3), 2900, longest, 0, 1025);
        requireSameBits(gaussian(4, HEADS, 2, DIM, 1), null, view, WINDOW);
    }

    @Test
    void packedSequencesOfDifferentLengths() {
        PackedSequences keys = PackedSequences.ofLengths(2900, 1L << 42, 0, 1025, 5000);
        PackedSequences queries = PackedSequences.ofLengths(3, 1, 2, 5, 0);
        KeyValueView view = KeyValueView.packed(same(1, keys.tokens(), 2), same(1, keys.tokens(), 3), keys);
        requireSameBits(gaussian(1, HEADS, queries.tokens(), DIM, 1), queries, view, WINDOW);
    }

    /**
     * Three sequences have evicted tokens up to different positions. One call attends to all of them, with packed queries and with batched
     * queries.
     */
    @Test
    void slidCachesOfDifferentLengths() {
        KeyValueCache cache =
                KeyValueCache.paged(new Config(1, KV_HEADS, DIM, DIM, CacheFormat.BF16, List.of()), 1 << 22);
        int[] sequences = {cache.open(), cache.open(), cache.open()};
        Tensor query = gaussian(3, HEADS, 2, DIM, 1);
        // up to four rows of a head group read bf16 keys in place, so that scratch contains no widened keys
        Tensor packed = gaussian(1, HEADS, 3, DIM, 2);
        PackedSequences queries = PackedSequences.ofLengths(2, 0, 1);
        long held = 0;
        for (int step = 0; step < 40; step++) {
            for (int i = 0; i < sequences.length; i++) {
                int tokens = 257 * i + 400;
                Tensor key = gaussian(1, KV_HEADS, tokens, DIM, 100 * step + i);
                cache.append(SERIAL, 0, sequences[i], key, key);
                cache.slide(sequences[i], Math.max(0, cache.length(0, sequences[i]) - 1600));
            }
            requireSameBits(query, null, cache.view(0, sequences), WINDOW);
            requireSameBits(packed, queries, cache.view(0, sequences), WINDOW);
            requireSameBits(query, null, cache.view(0, sequences), AttentionOptions.CAUSAL);
            held = step == 9 ? four.heldBytes() : held;
        }
        // states of all splits up to 36,000 keys would add 180 KB; the number of visible keys changes little
        assertTrue(cache.length(0, sequences[2]) > 36_000);
        assertTrue(four.heldBytes() - held < 50_000, four.heldBytes() + " bytes held, before " + held);
    }

    @Test
    void scratchOfASlidCacheDoesNotGrow() {
        KeyValueCache cache = KeyValueCache.paged(Config.of(1, KV_HEADS, DIM), 1 << 22);
        int sequence = cache.open();
        Tensor query = gaussian(1, HEADS, 1, DIM, 1);
        Tensor key = gaussian(1, KV_HEADS, 1024, DIM, 2);
        Tensor value = gaussian(1, KV_HEADS, 1024, DIM, 3);
        long held = 0;
        for (int step = 1; step <= 100; step++) {
            cache.append(SERIAL, 0, sequence, key, value);
            cache.slide(sequence, Math.max(0, 1024 * (step - 2)));
            requireSameBits(query, null, cache.view(0, sequence), WINDOW);
            held = step == 3 ? four.heldBytes() : held;
        }
        assertEquals(held, four.heldBytes());
    }
}

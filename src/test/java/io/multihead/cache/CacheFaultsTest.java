package io.multihead.cache;

import static io.multihead.faults.Named.named;
import static io.multihead.support.Tokens.DIM;
import static io.multihead.support.Tokens.KV_HEADS;
import static io.multihead.support.Tokens.attend;
import static io.multihead.support.Tokens.config;
import static io.multihead.support.Tokens.gaussian;
import static io.multihead.support.Tokens.tokens;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.KeyValueView;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A rejected call does not change the cache, and a call that fits is not rejected. */
class CacheFaultsTest {
    private static final Compute SERIAL = Compute.serial();
    private static final long PAGE =
            64 * KeyValueCache.contiguous(config(DType.F32), 1, 1).bytesPerToken();

    private final Tensor key = gaussian(1, KV_HEADS, 70, DIM, 1);
    private final Tensor value = gaussian(1, KV_HEADS, 70, DIM, 2);

    /** All owners of a shared page write to it in one append. The last owner needs no copy, so n owners need n - 1 free pages. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void theLastOwnerOfASharedPageKeepsIt(int owners) {
        KeyValueCache cache = KeyValueCache.paged(config(DType.F32), owners * PAGE);
        int[] all = new int[owners];
        all[0] = cache.open();
        cache.append(SERIAL, 0, all[0], tokens(key, 0, 10), tokens(value, 0, 10));
        for (int i = 1; i < owners; i++) {
            all[i] = cache.fork(all[0]);
        }
        Tensor more = gaussian(owners, KV_HEADS, 3, DIM, 3);
        cache.append(SERIAL, 0, all, more, more);
        assertEquals(0, cache.availableTokens());
        assertEquals(owners * PAGE, cache.usedBytes());
        for (int i = 0; i < owners; i++) {
            assertEquals(13, cache.length(0, all[i]));
            KeyValueCache alone = KeyValueCache.contiguous(config(DType.F32), 1, 64);
            alone.append(SERIAL, 0, 0, tokens(key, 0, 10), tokens(value, 0, 10));
            Tensor own = more.slice(0, i, i + 1);
            alone.append(SERIAL, 0, 0, own, own);
            Tensor query = gaussian(1, KV_HEADS, 2, DIM, 4);
            assertArrayEquals(
                    attend(SERIAL, query, alone.view(0, 0), AttentionOptions.CAUSAL),
                    attend(SERIAL, query, cache.view(0, all[i]), AttentionOptions.CAUSAL));
        }
    }

    /** Every writer needs a copy of a page if an owner of the page does not write. */
    @Test
    void aPageThatSomebodyKeepsIsCopiedForEveryWriter() {
        KeyValueCache cache = KeyValueCache.paged(config(DType.F32), 2 * PAGE);
        int kept = cache.open();
        cache.append(SERIAL, 0, kept, tokens(key, 0, 10), tokens(value, 0, 10));
        int[] writers = {cache.fork(kept), cache.fork(kept)};
        Tensor more = gaussian(2, KV_HEADS, 3, DIM, 3);
        for (int round = 0; round < 2; round++) { // a rejected append must not change the count of the next one
            CacheFullException full =
                    assertThrows(CacheFullException.class, () -> cache.append(SERIAL, 0, writers, more, more));
            assertTrue(full.getMessage().startsWith("cache: 2 pages"), full.getMessage());
        }
        assertEquals(PAGE, cache.usedBytes());
        cache.close(kept);
        cache.append(SERIAL, 0, writers, more, more);
        assertEquals(2 * PAGE, cache.usedBytes());
    }

    @Test
    void aWindowNeedsTheTokensThatItDroppedUntilTheyAreFreed() {
        KeyValueCache cache = KeyValueCache.contiguous(config(DType.F32), 1, 512);
        Tensor some = gaussian(1, KV_HEADS, 512, DIM, 3);
        Tensor one = gaussian(1, KV_HEADS, 1, DIM, 4);
        int[] to = {0};
        cache.append(SERIAL, 0, to, some, some);
        cache.slide(0, 255);
        CacheFullException full = assertThrows(CacheFullException.class, () -> cache.append(SERIAL, 0, to, one, one));
        assertTrue(full.getMessage().endsWith("expected at most 512 from token 0"), full.getMessage());
        for (int token = 512; token < 2000; token++) { // a window of 256, as in the Javadoc
            cache.slide(0, token - 255);
            cache.append(SERIAL, 0, to, one, one);
        }
        assertEquals(2000, cache.length(0, 0));
    }

    @Test
    void aRejectedAppendTakesNoPages() {
        KeyValueCache cache = KeyValueCache.paged(config(DType.F32), 8 * PAGE);
        int sequence = cache.open();
        Compute closed = Compute.serial();
        closed.close();
        assertThrows(IllegalStateException.class, () -> cache.append(closed, 0, sequence, key, value));
        assertEquals(0, cache.usedBytes());
        assertEquals(0, cache.length(0, sequence));
        assertThrows(
                IllegalArgumentException.class,
                () -> cache.append(SERIAL, 0, new int[] {sequence, 99}, pair(key), pair(value)));
        assertEquals(0, cache.usedBytes());
    }

    /** An append that fails while it runs frees the pages that it took and keeps earlier tokens. */
    @Test
    void anAppendThatFailsHalfWayGivesItsPagesBack() {
        KeyValueCache cache = KeyValueCache.paged(config(DType.F32), 8 * PAGE);
        int sequence = cache.open();
        cache.append(SERIAL, 0, sequence, tokens(key, 0, 10), tokens(value, 0, 10));
        Tensor query = gaussian(1, KV_HEADS, 1, DIM, 4);
        double[] before = attend(SERIAL, query, cache.view(0, sequence), AttentionOptions.CAUSAL);
        Compute failing = Compute.on(
                task -> {
                    throw new IllegalStateException("test: no threads today");
                },
                2);
        try {
            cache.append(failing, 0, sequence, key, value);
            assertEquals(80, cache.length(0, sequence));
        } catch (IllegalStateException rejected) {
            assertEquals(10, cache.length(0, sequence));
            assertEquals(PAGE, cache.usedBytes());
            assertArrayEquals(before, attend(SERIAL, query, cache.view(0, sequence), AttentionOptions.CAUSAL));
        }
    }

    /** The call appends 2^63 - 1 tokens to a sequence of one token. The sum overflows, and the shared page must not be written. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void tokensBeyondALongFindNoRoom(boolean stored) {
        Config config = Config.of(1, 1, 1);
        KeyValueCache cache = KeyValueCache.paged(config, 1 << 20);
        int shared = cache.open();
        Tensor three = Tensor.of(new float[] {5, 6, 7}, 1, 1, 3, 1);
        cache.append(SERIAL, 0, shared, three, three);
        int fork = cache.fork(shared);
        cache.truncate(fork, 1);
        Tensor many = Tensor.of(new float[] {1}, 1, 1, 1, 1).broadcast(1, 1, Long.MAX_VALUE, 1);
        StoredTokens manyStored = new StoredTokens(many.select(0, 0), many.select(0, 0), null, null);
        CacheContents contents = CacheContents.of(cache);
        assertThrows(CacheFullException.class, () -> {
            if (stored) {
                contents.appendStored(SERIAL, 0, fork, manyStored);
            } else {
                cache.append(SERIAL, 0, fork, many, many);
            }
        });
        assertEquals(1, cache.length(0, fork));
        Tensor kept = Tensor.of(new float[3], 1, 3, 1);
        contents.read(SERIAL, 0, shared, 0, kept, Tensor.of(new float[3], 1, 3, 1));
        assertArrayEquals(new float[] {5, 6, 7}, kept.toArray());
    }

    /** Long lists are truncated in messages. The repeated sequence is beyond the end of the list. */
    @Test
    void theSequenceThatIsThereTwiceIsNamedAmongMany() {
        KeyValueCache cache = KeyValueCache.paged(config(DType.F32), PAGE);
        int[] all = IntStream.range(0, 3000).map(i -> cache.open()).toArray();
        Tensor none = gaussian(all.length, KV_HEADS, 0, DIM, 3);
        all[1] = 2999;
        for (int round = 0; round < 2; round++) { // a rejected append must not change the page count of the next one
            RuntimeException twice = named("to", () -> cache.append(SERIAL, 0, all, none, none));
            assertTrue(twice.getMessage().endsWith("expected no sequence twice, as 2999 is"), twice.getMessage());
        }
        all[1] = 1;
        cache.append(SERIAL, 0, all, none, none);
    }

    private static Tensor pair(Tensor tensor) {
        return gaussian(2, tensor.dim(1), tensor.dim(2), tensor.dim(3), 5);
    }

    @Test
    void sizesThatOverflowAreNamed() {
        named("config", () -> Config.of(1, 1, 1 << 25));
        named("config", () -> Config.of(65536, 65536, 1));
        named("config", () -> Config.of(Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE));
        named("config", () -> Config.of(1, 1, 4).withValueDim(Integer.MAX_VALUE));
        named("config", () -> KeyValueCache.contiguous(Config.of(1, 1, 1 << 23), 1, 1));
        Config small = Config.of(1, 1, 4);
        named("budgetBytes", () -> KeyValueCache.paged(small, Long.MAX_VALUE));
        named("budgetBytes", () -> KeyValueCache.paged(small, 1L << 50));
        named("budgetBytes", () -> KeyValueCache.paged(small, -1));
        named("tokens", () -> KeyValueCache.contiguous(small, 1, Long.MAX_VALUE));
        named("tokens", () -> KeyValueCache.contiguous(small, Integer.MAX_VALUE, 1L << 40));
        named("tokens", () -> KeyValueCache.contiguous(small, Integer.MAX_VALUE, 1));
    }

    /** A page has 64 tokens of 2 (2^24 - 1) elements. An array cannot hold 64 tokens of 2^25 elements. */
    @Test
    void theLargestPageThatFitsIsTaken() {
        assertEquals((1 << 24) - 1, Config.of(1, 1, (1 << 24) - 1).headDim());
        named("config", () -> Config.of(1, 1, 1 << 24));
    }

    @Test
    void pagesOfTheCallerAreChecked() {
        Tensor page = Tensor.of(new float[8], 1, 2, 4);
        named("keys[1]", () -> KeyValueView.pages(Arrays.asList(page, null), List.of(page, page), 1));
        named("values[0]", () -> KeyValueView.pages(List.of(page), Arrays.asList((Tensor) null), 1));
        named("keys[0]", () -> KeyValueView.pages(List.of(Tensor.of(new float[1])), List.of(page), 1));
        named("values[0]", () -> KeyValueView.pages(List.of(page), List.of(Tensor.of(new float[1])), 1));
        Tensor heads = Tensor.view(MemorySegment.ofArray(new float[1]), DType.F32, Shape.of(1, 1, 1))
                .broadcast((1L << 32) + 2, 1, 1);
        named("keyValueHeads", () -> KeyValueView.pages(List.of(heads), List.of(heads), 1));
        Tensor dims = Tensor.view(MemorySegment.ofArray(new float[1]), DType.F32, Shape.of(1, 1, 1))
                .broadcast(1, 1, (1L << 32) + 2);
        named("headDim", () -> KeyValueView.pages(List.of(dims), List.of(dims), 1));
        Tensor tall = Tensor.view(MemorySegment.ofArray(new float[1]), DType.F32, Shape.of(1, 1, 1))
                .broadcast(1, Long.MAX_VALUE, 1);
        assertEquals(
                9,
                KeyValueView.pages(List.of(tall, tall), List.of(tall, tall), 9).keys(0));
        Tensor none = Tensor.of(new float[0], 1, 0, 4);
        named("tokens", () -> KeyValueView.pages(List.of(none), List.of(none), 1));
    }
}

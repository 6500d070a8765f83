package io.multihead.cache;

import static io.multihead.faults.Named.named;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.position.Rope;
import io.multihead.support.CacheModel;
import io.multihead.support.Layout;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;

/** Tokens that are read equal the appended tokens, narrowed once; restored tokens have the same bits as the tokens that were read. */
@Tag("lanes")
class CacheContentsTest {
    private static final Compute CPU = Compute.serial();
    private static final Config SMALL =
            Config.of(2, 2, 4).withValueDim(3).withFormat(CacheFormat.I8).withRopes(Rope.of(Rope.Config.of(4)));

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void readsWhatWasAppended(
            @ForAll DType dtype, @ForAll boolean contiguous, @ForAll Layout layout, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        RandomCache filled =
                new RandomCache(RandomCache.config(dtype, random), contiguous, random.nextBoolean(), CPU, random);
        Config config = filled.config;
        try (Arena arena = Arena.ofShared();
                Compute cpu = Compute.threads(1 + random.nextInt(2))) {
            for (int sequence : filled.sequences()) {
                CacheModel.Tokens tokens = filled.model.get(sequence);
                int layer = random.nextInt(config.layers());
                int length = tokens.layers.get(layer).size();
                int from = (int) tokens.first() + random.nextInt(length - (int) tokens.first() + 1);
                int to = from + random.nextInt(length - from + 1);
                Tensor key = layout.allocate(arena, DType.F32, config.heads(), to - from, config.headDim());
                Tensor value = layout.allocate(arena, DType.F32, config.heads(), to - from, config.valueDim());
                CacheContents.of(filled.cache).read(cpu, layer, sequence, from, key, value);
                List<CacheModel.Token> expected = tokens.layers.get(layer).subList(from, to);
                assertArrayEquals(narrowed(expected, true, config), key.toArray());
                assertArrayEquals(narrowed(expected, false, config), value.toArray());
                assertTrue(Layout.untouchedOutside(key) && Layout.untouchedOutside(value));
            }
        }
    }

    private static float[] narrowed(List<CacheModel.Token> tokens, boolean keys, Config config) {
        int dim = keys ? config.headDim() : config.valueDim();
        float[] values = CacheModel.tensor(tokens, keys, config.heads(), dim, config.format())
                .toArray();
        for (int i = 0; config.format().dtype() == DType.I8 && i < values.length; i++) {
            values[i] += 0f; // integers have no negative zero
        }
        return values;
    }

    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void restoredTokensHaveTheSameBits(@ForAll DType dtype, @ForAll boolean contiguous, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Config plain = RandomCache.config(dtype, random);
        Config config = plain.withRopes(Rope.of(Rope.Config.of(2 * random.nextInt(1, plain.headDim() / 2 + 1))));
        RandomCache filled = new RandomCache(config, contiguous, random.nextBoolean(), CPU, random);
        KeyValueCache restored = RandomCache.empty(config, !contiguous);
        int to = contiguous ? restored.open() : 0;
        for (int sequence : filled.sequences()) {
            restored.truncate(to, 0);
            if (filled.cache.firstKey(sequence) > 0) {
                continue; // positions, and the blocks in which attention sums, would differ
            }
            for (int layer = 0; layer < config.layers(); layer++) {
                long length = filled.cache.length(layer, sequence);
                for (long from = 0; from < length; ) { // in chunks of random sizes
                    long count = 1 + random.nextLong(length - from);
                    StoredTokens stored = StoredTokens.allocate(Arena.ofAuto(), config, count);
                    CacheContents.of(filled.cache).readStored(CPU, layer, sequence, from, stored);
                    CacheContents.of(restored).appendStored(CPU, layer, to, stored);
                    from += count;
                }
                assertArrayEquals(
                        RandomCache.attend(filled.cache, layer, sequence, CPU),
                        RandomCache.attend(restored, layer, to, CPU));
            }
        }
    }

    /** The scale is the largest one whose product with 127 is finite. The byte is -128, which append never stores. */
    @Example
    void aValueThatOverflowsWhenItIsWidenedReachesOnlyRowsThatSeeIt() {
        Config config = Config.of(1, 1, 4).withFormat(CacheFormat.I8);
        KeyValueCache cache = KeyValueCache.paged(config, 1L << 16);
        int sequence = cache.open();
        StoredTokens stored = StoredTokens.allocate(Arena.ofAuto(), config, 70);
        stored.valueScale().set(Math.nextDown(Float.MAX_VALUE / 127f), 0, 69);
        stored.value().set(-128, 0, 69, 0);
        CacheContents.of(cache).appendStored(CPU, 0, sequence, stored);
        Tensor query = Tokens.gaussian(1, 1, 2, 4, 1);
        double[] rows = Tokens.attend(CPU, query, cache.view(0, sequence), AttentionOptions.CAUSAL);
        assertArrayEquals(new double[4], Arrays.copyOf(rows, 4));
        assertFalse(Double.isFinite(rows[4]));
    }

    @Example
    void scalesHaveOneNumberForEachRow() {
        KeyValueCache cache = KeyValueCache.paged(SMALL, 1L << 16);
        int sequence = cache.open();
        CacheContents contents = CacheContents.of(cache);
        StoredTokens stored = StoredTokens.allocate(Arena.ofAuto(), SMALL, 10);
        contents.appendStored(CPU, 0, sequence, stored);
        for (long[] dims : new long[][] {{2, 9}, {3, 10}, {2, 10, 1}, {20}}) {
            StoredTokens misfit =
                    new StoredTokens(stored.key(), stored.value(), Tokens.zeros(dims), stored.valueScale());
            named("keyScale", () -> contents.appendStored(CPU, 0, sequence, misfit));
            named("keyScale", () -> contents.readStored(CPU, 0, sequence, 0, misfit));
        }
        assertEquals(10, cache.length(0, sequence));
    }

    @Example
    void rejectedCallsNameTheArgumentAndChangeNothing() {
        KeyValueCache cache = KeyValueCache.paged(SMALL, 1L << 16);
        int sequence = cache.open();
        Tensor key = Tokens.gaussian(1, 2, 300, 4, 1);
        Tensor value = Tokens.gaussian(1, 2, 300, 3, 2);
        cache.append(CPU, 0, sequence, key, value);
        CacheContents contents = CacheContents.of(cache);
        Tensor k = Tokens.zeros(2, 10, 4);
        Tensor v = Tokens.zeros(2, 10, 3);
        contents.read(CPU, 0, sequence, 290, k, v);
        named("from", () -> contents.read(CPU, 0, sequence, 291, k, v));
        named("from", () -> contents.read(CPU, 0, sequence, -1, k, v));
        named("from", () -> contents.read(CPU, 0, sequence, Long.MAX_VALUE, k, v));
        named("from", () -> contents.read(CPU, 1, sequence, 0, k, v));
        named("layer", () -> contents.read(CPU, 2, sequence, 0, k, v));
        named("sequence", () -> contents.read(CPU, 0, 7, 0, k, v));
        named("key", () -> contents.read(CPU, 0, sequence, 0, v, v));
        named("value", () -> contents.read(CPU, 0, sequence, 0, k, k));
        named("value", () -> contents.read(CPU, 0, sequence, 0, k, Tokens.zeros(2, 9, 3)));
        named("value", () -> contents.read(CPU, 0, sequence, 0, k, k.slice(2, 0, 3)));
        named(
                "key",
                () -> contents.read(CPU, 0, sequence, 0, Tokens.zeros(2, 1, 4).broadcast(2, 10, 4), v));

        StoredTokens stored = StoredTokens.allocate(Arena.ofAuto(), SMALL, 10);
        contents.readStored(CPU, 0, sequence, 290, stored);
        named("key", () -> contents.readStored(CPU, 0, sequence, 0, new StoredTokens(k, v, null, null)));
        StoredTokens floats = new StoredTokens(stored.key(), v, stored.keyScale(), stored.valueScale());
        named("value", () -> contents.readStored(CPU, 0, sequence, 0, floats));
        named("value", () -> contents.appendStored(CPU, 0, sequence, floats));
        named(
                "keyScale",
                () -> contents.appendStored(
                        CPU, 0, sequence, new StoredTokens(stored.key(), stored.value(), null, stored.valueScale())));
        named(
                "valueScale",
                () -> contents.appendStored(
                        CPU, 0, sequence, new StoredTokens(stored.key(), stored.value(), stored.keyScale(), v)));
        named(
                "valueScale",
                () -> contents.readStored(
                        CPU,
                        0,
                        sequence,
                        0,
                        new StoredTokens(stored.key(), stored.value(), stored.keyScale(), stored.keyScale())));
        named("layer", () -> contents.appendStored(CPU, 2, sequence, stored));
        assertEquals(300, cache.length(0, sequence));

        KeyValueCache tiny = KeyValueCache.paged(SMALL, 64 * cache.bytesPerToken());
        int other = tiny.open();
        CacheContents.of(tiny).appendStored(CPU, 0, other, stored);
        StoredTokens many = StoredTokens.allocate(Arena.ofAuto(), SMALL, 55);
        assertThrows(CacheFullException.class, () -> CacheContents.of(tiny).appendStored(CPU, 0, other, many));
        assertEquals(10, tiny.length(0, other));
        named("keyScale", () -> CacheContents.of(KeyValueCache.contiguous(SMALL.withFormat(CacheFormat.F32), 1, 1))
                .appendStored(CPU, 0, 0, new StoredTokens(k, v, k.select(2, 0), v.select(2, 0))));
    }
}

package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;

/** Sessions of random caches continue with the same bits after they are saved and loaded. */
@Tag("lanes")
class CacheSessionProperties {
    private static final Compute CPU = Compute.serial();

    @Property(tries = 120, edgeCases = EdgeCasesMode.NONE)
    void loadedSequencesContinueWithTheSameBits(
            @ForAll DType dtype,
            @ForAll boolean contiguous,
            @ForAll boolean loadContiguous,
            @ForAll boolean finite,
            @ForAll long seed)
            throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        RandomCache saved = new RandomCache(RandomCache.config(dtype, random), contiguous, finite, CPU, random);
        int[] from = saved.sequences();
        KeyValueCache loaded = RandomCache.empty(saved.config, loadContiguous);
        recycle(loaded);
        long before = loaded.usedBytes();
        int[] to;
        try (Compute other = Compute.threads(2)) {
            to = copy(saved.cache, from, other, loaded);
        }
        assertEquals(from.length, to.length);
        if (contiguous == loadContiguous) {
            assertTrue(loaded.usedBytes() - before <= saved.cache.usedBytes(), "shared tokens must remain shared");
        }
        for (int i = 0; i < from.length; i++) {
            assertSame(saved.cache, from[i], loaded, to[i]);
        }
        // both caches get the same changes: a truncation, a fork that shares loaded pages, and appends
        int shorter = random.nextInt(from.length);
        long length = saved.cache.firstKey(from[shorter]);
        saved.cache.truncate(from[shorter], length + 1);
        loaded.truncate(to[shorter], length + 1);
        int fork = saved.cache.fork(from[shorter]);
        int loadedFork = loaded.fork(to[shorter]);
        append(saved.cache, fork, seed);
        append(loaded, loadedFork, seed);
        assertSame(saved.cache, fork, loaded, loadedFork);
        for (int i = 0; i < from.length; i++) {
            append(saved.cache, from[i], seed + i);
            append(loaded, to[i], seed + i);
        }
        for (int i = 0; i < from.length; i++) {
            assertSame(saved.cache, from[i], loaded, to[i]);
        }
    }

    /** Leaves values that are not finite in free pages. */
    private static void recycle(KeyValueCache cache) {
        KeyValueCache.Config config = cache.config();
        for (int sequence = 0; sequence < 8; sequence++) {
            int used = cache.open();
            for (int layer = 0; layer < config.layers(); layer++) {
                Tensor key = Tokens.zeros(1, config.heads(), 200, config.headDim());
                Tensor value = Tokens.zeros(1, config.heads(), 200, config.valueDim());
                key.fill(Double.NaN);
                value.fill(Double.NaN);
                cache.append(CPU, layer, used, key, value);
            }
            cache.close(used);
        }
    }

    private static int[] copy(KeyValueCache from, int[] sequences, Compute cpu, KeyValueCache to) throws IOException {
        Path file = Files.createTempFile("session", ".safetensors");
        try {
            CacheSession.save(cpu, from, file, sequences);
            return CacheSession.load(CPU, to, file);
        } finally {
            Files.delete(file);
        }
    }

    private static void append(KeyValueCache cache, int sequence, long seed) {
        KeyValueCache.Config config = cache.config();
        for (int layer = 0; layer < config.layers(); layer++) {
            Tensor key = Tokens.gaussian(1, config.heads(), 70, config.headDim(), seed);
            Tensor value = Tokens.gaussian(1, config.heads(), 70, config.valueDim(), seed + 1);
            cache.append(CPU, layer, sequence, key, value);
        }
    }

    private static void assertSame(KeyValueCache expected, int from, KeyValueCache actual, int to) {
        assertEquals(expected.firstKey(from), actual.firstKey(to));
        for (int layer = 0; layer < expected.config().layers(); layer++) {
            assertEquals(expected.length(layer, from), actual.length(layer, to));
            assertArrayEquals(
                    RandomCache.attend(expected, layer, from, CPU), RandomCache.attend(actual, layer, to, CPU));
        }
    }
}

package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.support.Floats;
import io.multihead.support.Tokens;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Attention over a cache with a window has the same bits as over a cache that keeps all tokens, after random schedules of all operations of
 * sequences.
 */
@Tag("bits")
class WindowedCacheProperties {
    private static final int SCHEDULES = 200;
    private static final int STEPS = 40;
    private static final int LAYERS = 2;
    private static final int MOST = 1500;
    private static final KeyValueCache.Config CONFIG = KeyValueCache.Config.of(LAYERS, 1, 4);
    private static final Compute CPU = Compute.serial();

    @TempDir
    private Path folder;

    /** A cache with a window and a cache without, with the same sequences. */
    private static final class Pair {
        final int window;
        final KeyValueCache windowed;
        final KeyValueCache whole;
        final TreeSet<Integer> open = new TreeSet<>();

        Pair(int window) {
            this.window = window;
            windowed = KeyValueCache.windowed(Arena.ofAuto(), CONFIG, 120L * 64 * CONFIG.bytesPerToken(), window);
            whole = KeyValueCache.paged(CONFIG, 400L * 64 * CONFIG.bytesPerToken());
        }

        int add(int ofWindowed, int ofWhole) {
            assertEquals(ofWhole, ofWindowed);
            open.add(ofWhole);
            return ofWhole;
        }

        void append(int layer, int sequence, int tokens, long seed) {
            Tensor key = Tokens.gaussian(1, 1, tokens, 4, seed);
            Tensor value = Tokens.gaussian(1, 1, tokens, 4, seed + 1);
            windowed.append(CPU, layer, sequence, key, value);
            whole.append(CPU, layer, sequence, key, value);
        }

        /** Compares attention of the last {@code queries} tokens, which were appended in one call. */
        void require(int sequence, long queries) {
            for (int layer = 0; layer < LAYERS; layer++) {
                assertEquals(whole.length(layer, sequence), windowed.length(layer, sequence));
                assertArrayEquals(attend(whole, layer, sequence, queries), attend(windowed, layer, sequence, queries));
            }
        }

        private int[] attend(KeyValueCache cache, int layer, int sequence, long queries) {
            Tensor query = Tokens.gaussian(1, 2, queries, 4, 7);
            Tensor output = Tokens.zeros(1, 2, queries, 4);
            AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.CAUSAL.and(Mask.window(window - 1, 0)));
            Attention.forward(CPU, query, cache.view(layer, sequence), AttentionOutputs.of(output), options);
            return Floats.bits(output.toArray());
        }
    }

    @Test
    void everyScheduleHasTheBitsOfACacheThatKeepsAll() throws IOException {
        for (int schedule = 0; schedule < SCHEDULES; schedule++) {
            SplittableRandom random = new SplittableRandom(schedule);
            try {
                run(random, new Pair(new int[] {1, 2, 65, 300}[random.nextInt(4)]));
            } catch (AssertionError | RuntimeException failed) {
                throw new AssertionError("schedule " + schedule, failed);
            }
        }
    }

    private void run(SplittableRandom random, Pair pair) throws IOException {
        pair.add(pair.windowed.open(), pair.whole.open());
        for (int step = 0; step < STEPS; step++) {
            List<Integer> numbers = List.copyOf(pair.open);
            int sequence = numbers.get(random.nextInt(numbers.size()));
            long length = pair.whole.length(sequence);
            switch (random.nextInt(11)) {
                case 0 -> {
                    if (numbers.size() < 5) {
                        pair.add(pair.windowed.fork(sequence), pair.whole.fork(sequence));
                    }
                }
                case 1 -> {
                    if (numbers.size() > 1) {
                        pair.windowed.close(sequence);
                        pair.whole.close(sequence);
                        pair.open.remove(sequence);
                    }
                }
                case 2, 3 -> pair.windowed.snapshot(sequence);
                case 4, 5 -> {
                    long first = pair.whole.firstKey(sequence);
                    truncate(pair, sequence, first + random.nextLong(length - first + 1));
                }
                case 6 ->
                    truncate(pair, sequence, Math.max(pair.whole.firstKey(sequence), length - random.nextInt(257)));
                case 7 -> {
                    long first = pair.whole.firstKey(sequence);
                    long to = first + random.nextLong(length - first + 1);
                    if (random.nextInt(3) == 0) {
                        pair.windowed.slide(sequence, to);
                        pair.whole.slide(sequence, to);
                    }
                }
                case 8 -> save(pair, sequence);
                default -> append(random, pair, sequence);
            }
        }
        pair.open.forEach(pair.windowed::close);
        assertEquals(0, pair.windowed.usedBytes());
    }

    /** Appends to all layers, or only to the first layer and truncates to the previous length, as after a failed step. */
    private static void append(SplittableRandom random, Pair pair, int sequence) {
        long length = pair.whole.length(sequence);
        int tokens = random.nextInt(4) == 0 ? 1 : 1 + random.nextInt(300);
        if (length + tokens > MOST) {
            return;
        }
        long available = pair.windowed.availableTokens();
        long needed = pair.windowed.neededTokens(sequence, tokens);
        if (needed > available) {
            return;
        }
        pair.append(0, sequence, tokens, random.nextLong());
        assertTrue(available - pair.windowed.availableTokens() <= needed);
        if (random.nextInt(5) == 0) {
            assertEquals(length, pair.windowed.restorable(sequence, length));
            assertThrows(IllegalStateException.class, () -> pair.windowed.snapshot(sequence));
            truncate(pair, sequence, length);
            return;
        }
        pair.append(1, sequence, tokens, random.nextLong());
        pair.require(sequence, tokens);
        int held = pair.windowed.window() - 1 + 511 + 64 + tokens;
        assertTrue(pair.windowed.view(0, sequence).firstKey(0) >= length + tokens - held);
    }

    private static void truncate(Pair pair, int sequence, long length) {
        long restorable = pair.windowed.restorable(sequence, length);
        assertTrue(restorable <= length);
        if (restorable < length) {
            long used = pair.windowed.usedBytes();
            String message = assertThrows(
                            IllegalArgumentException.class, () -> pair.windowed.truncate(sequence, length))
                    .getMessage();
            assertTrue(
                    message.startsWith("length: " + length + "; expected at most " + restorable + " or at least "),
                    message);
            assertEquals(used, pair.windowed.usedBytes());
        }
        if (restorable < 0) {
            assertTrue(pair.whole.firstKey(sequence) > 0);
            return;
        }
        long available = pair.windowed.availableTokens();
        long freed = pair.windowed.freedTokens(sequence, restorable);
        pair.windowed.truncate(sequence, restorable);
        assertEquals(freed, pair.windowed.availableTokens() - available);
        pair.whole.truncate(sequence, restorable);
        assertEquals(restorable, pair.windowed.length(sequence));
    }

    private void save(Pair pair, int sequence) throws IOException {
        if (pair.open.size() > 4 || pair.windowed.availableTokens() < MOST + 256) {
            return;
        }
        Path file = folder.resolve("windowed");
        CacheSession.save(CPU, pair.windowed, file, sequence);
        Path all = folder.resolve("whole");
        CacheSession.save(CPU, pair.whole, all, sequence);
        assertTrue(Files.size(file) <= Files.size(all) + 200);
        pair.add(CacheSession.load(CPU, pair.windowed, file)[0], CacheSession.load(CPU, pair.whole, all)[0]);
    }

    @Test
    void aSequenceHoldsItsWindowAndWhatItCanLose() {
        Pair pair = new Pair(300);
        int sequence = pair.add(pair.windowed.open(), pair.whole.open());
        SplittableRandom random = new SplittableRandom(1);
        while (pair.whole.length(sequence) < MOST) {
            int tokens = 1 + random.nextInt(40);
            pair.append(0, sequence, tokens, 1);
            pair.append(1, sequence, tokens, 2);
            long length = pair.whole.length(sequence);
            assertEquals(Math.max(0, length - 256), pair.windowed.restorable(sequence, Math.max(0, length - 256)));
            assertTrue(pair.windowed.usedBytes() <= (300 + 511 + 40 + 64) * CONFIG.bytesPerToken());
        }
        assertEquals(0, pair.windowed.restorable(sequence, 700));
        pair.windowed.slide(sequence, 400);
        assertEquals(-1, pair.windowed.restorable(sequence, 500));
    }

    @Test
    void aFileOfACacheThatKeepsAllIsReadByCachesWithWindows() throws IOException {
        Pair pair = new Pair(65);
        int sequence = pair.add(pair.windowed.open(), pair.whole.open());
        for (int i = 0; i < 4; i++) {
            pair.append(0, sequence, 200, i);
            pair.append(1, sequence, 200, 2 + i);
        }
        Path file = folder.resolve("whole");
        CacheSession.save(CPU, pair.whole, file, sequence);
        KeyValueCache.Config one = KeyValueCache.Config.of(1, 1, 4);
        KeyValueCache second = KeyValueCache.windowed(Arena.ofAuto(), one, 900L * one.bytesPerToken(), 65);
        HybridCache parts = HybridCache.of(List.of(KeyValueCache.paged(one, 900L * one.bytesPerToken()), second), 0, 1);
        int loaded = CacheSession.load(CPU, parts, file)[0];
        assertEquals(800, parts.length(loaded));
        assertArrayEquals(pair.attend(pair.whole, 1, sequence, 3), pair.attend(second, 0, loaded, 3));
        Path windowed = folder.resolve("windowed");
        CacheSession.save(CPU, pair.windowed, windowed, sequence);
        String message = assertThrows(
                        IllegalArgumentException.class, () -> CacheSession.load(CPU, pair.whole, windowed))
                .getMessage();
        assertTrue(message.endsWith("window: 65; expected 0, as the cache has, 0 for all"), message);
    }
}

package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Recurrent states, alone and together with keys and values, are compared with plain lists of tokens over random schedules of all
 * operations of sequences. A state must result only from the tokens of its sequence, starting with zeros.
 */
class RecurrentCacheProperties {
    private static final int SCHEDULES = 200;
    private static final int STEPS = 60;
    private static final int FLOATS = 3;
    private static final Compute CPU = Compute.serial();

    @TempDir
    private Path folder;

    /** Returns a cache of recurrent layers, or, if {@code hybrid}, of three layers, of which the second has keys and values. */
    private static SequenceCache cache(boolean hybrid) {
        RecurrentCache states = RecurrentCache.of(FLOATS, FLOATS + 1);
        if (!hybrid) {
            return states;
        }
        KeyValueCache.Config config = KeyValueCache.Config.of(1, 1, 4);
        KeyValueCache keys = KeyValueCache.paged(Arena.ofAuto(), config, 64L * 64 * config.bytesPerToken());
        return HybridCache.of(List.of(states, keys), 0, 1, 0);
    }

    private static void append(SequenceCache cache, int sequence, List<Integer> tokens) {
        for (int layer = 0; layer < cache.layers(); layer++) {
            if (cache.part(layer) instanceof RecurrentCache states) {
                int count = tokens.size();
                move(states.states(cache.layerOfPart(layer), sequence, count), tokens);
            } else {
                float[] keys = new float[4 * tokens.size()];
                for (int i = 0; i < keys.length; i++) {
                    keys[i] = tokens.get(i / 4);
                }
                Tensor key = Tensor.of(keys, 1, 1, tokens.size(), 4);
                ((KeyValueCache) cache.part(layer)).append(CPU, cache.layerOfPart(layer), sequence, key, key);
            }
        }
    }

    /** Updates a state. The result is exact in f32 and depends on the order of tokens. */
    private static void move(float[] state, List<Integer> tokens) {
        for (int token : tokens) {
            for (int i = 0; i < state.length; i++) {
                state[i] = (state[i] * 31 + token + i) % 8191;
            }
        }
    }

    private static void require(SequenceCache cache, int sequence, List<Integer> tokens) {
        assertEquals(tokens.size(), cache.length(sequence));
        int next = cache.fork(sequence); // a state is visible only to the sequence that changes it
        for (int layer = 0; layer < cache.layers(); layer++) {
            if (cache.part(layer) instanceof RecurrentCache states) {
                float[] expected = new float[states.floats(cache.layerOfPart(layer))];
                move(expected, tokens);
                assertArrayEquals(expected, states.states(cache.layerOfPart(layer), next, 1));
            } else {
                if (tokens.isEmpty()) {
                    continue;
                }
                Tensor keys = Tensor.of(new float[4 * tokens.size()], 1, tokens.size(), 4);
                Tensor values = Tensor.of(new float[4 * tokens.size()], 1, tokens.size(), 4);
                CacheContents.of((KeyValueCache) cache.part(layer))
                        .read(CPU, cache.layerOfPart(layer), sequence, 0, keys, values);
                for (int t = 0; t < tokens.size(); t++) {
                    assertEquals((int) tokens.get(t), (int) keys.get(0, t, 3));
                }
            }
        }
        cache.close(next);
    }

    @Test
    void everyScheduleHasTheStatesOfItsTokens() throws IOException {
        for (int schedule = 0; schedule < SCHEDULES; schedule++) {
            run(new SplittableRandom(schedule), cache(schedule % 2 == 1));
        }
    }

    private void run(SplittableRandom random, SequenceCache cache) throws IOException {
        TreeMap<Integer, List<Integer>> open = new TreeMap<>();
        for (int step = 0; step < STEPS; step++) {
            if (open.isEmpty()) {
                open.put(cache.open(), new ArrayList<>());
            }
            List<Integer> numbers = List.copyOf(open.keySet());
            int sequence = numbers.get(random.nextInt(numbers.size()));
            List<Integer> tokens = open.get(sequence);
            switch (random.nextInt(9)) {
                case 0 -> open.put(cache.open(), new ArrayList<>());
                case 1 -> open.put(cache.fork(sequence), new ArrayList<>(tokens));
                case 2 -> {
                    cache.close(sequence);
                    open.remove(sequence);
                }
                case 3 -> cache.snapshot(sequence);
                case 4, 5 -> {
                    int length = random.nextInt(tokens.size() + 1);
                    int restorable = (int) cache.restorable(sequence, length);
                    assertTrue(restorable <= length);
                    if (restorable < length) {
                        assertThrows(IllegalArgumentException.class, () -> cache.truncate(sequence, length));
                    }
                    cache.truncate(sequence, restorable);
                    tokens.subList(restorable, tokens.size()).clear();
                }
                case 6 -> open.putAll(saved(cache, numbers, open));
                default -> {
                    List<Integer> more =
                            random.ints(1 + random.nextInt(70), 0, 1000).boxed().toList();
                    if (cache.availableTokens() > 512) {
                        append(cache, sequence, more);
                        tokens.addAll(more);
                    }
                }
            }
            for (int number : open.keySet()) {
                require(cache, number, open.get(number));
            }
        }
        open.keySet().forEach(cache::close);
        assertEquals(0, cache.usedBytes());
    }

    /** Saves all sequences, loads them as additional sequences, and restores a snapshot of a loaded sequence. */
    private TreeMap<Integer, List<Integer>> saved(
            SequenceCache cache, List<Integer> numbers, TreeMap<Integer, List<Integer>> open) throws IOException {
        TreeMap<Integer, List<Integer>> more = new TreeMap<>();
        if (numbers.size() > 6 || cache.availableTokens() < 2048) {
            return more;
        }
        Path file = folder.resolve("saved");
        CacheSession.save(CPU, cache, file, numbers.stream().mapToInt(i -> i).toArray());
        int[] loaded = CacheSession.load(CPU, cache, file);
        for (int i = 0; i < loaded.length; i++) {
            List<Integer> tokens = open.get(numbers.get(i));
            require(cache, loaded[i], tokens);
            int back = Math.max(0, tokens.size() - 1);
            assertEquals(cache.restorable(numbers.get(i), back), cache.restorable(loaded[i], back));
            more.put(loaded[i], new ArrayList<>(tokens));
        }
        return more;
    }

    @Test
    void whatARecurrentStateCannotDoIsNamed() throws IOException {
        SequenceCache cache = cache(true);
        int sequence = cache.open();
        append(cache, sequence, List.of(1, 2, 3));
        String message =
                "sequence 0: recurrent states, which cannot drop their first tokens; expected only keys and values";
        assertEquals(
                message,
                assertThrows(IllegalStateException.class, () -> cache.slide(sequence, 1))
                        .getMessage());
        assertEquals(0, cache.firstKey(sequence));
        assertEquals(0, cache.restorable(sequence, 2));
        RecurrentCache states = RecurrentCache.of(2, 2);
        int other = states.open();
        states.states(0, other, 2);
        assertEquals(
                "sequence 0: layers of lengths [2, 0]; expected one length, as after a whole step",
                assertThrows(IllegalStateException.class, () -> states.snapshot(other))
                        .getMessage());
        states.states(1, other, 2);
        states.snapshot(other);
        states.states(0, other, 1);
        assertEquals(2, states.restorable(other, 3));
        assertEquals(
                "length: 1; expected 0 or a snapshot's, [2], as layers have recurrent states",
                assertThrows(IllegalArgumentException.class, () -> states.truncate(other, 1))
                        .getMessage());
        Path file = folder.resolve("states");
        CacheSession.save(CPU, cache, file, sequence);
        String wrong = assertThrows(
                        IllegalArgumentException.class, () -> CacheSession.load(CPU, RecurrentCache.of(3, 5), file))
                .getMessage();
        assertTrue(wrong.endsWith("parts of layers: 0 1 0; expected 0 0, as the cache has"), wrong);
        assertEquals("[0]", Arrays.toString(CacheSession.load(CPU, cache(true), file)));
    }

    /** Needed, free and freed memory is counted exactly over random schedules. */
    @Test
    void aLimitCountsStates() {
        SplittableRandom random = new SplittableRandom(5);
        RecurrentCache cache = RecurrentCache.of(FLOATS, FLOATS);
        cache.limitStates(7);
        assertEquals(7 * RecurrentCache.TOKENS_OF_STATE, cache.availableTokens());
        List<Integer> open = new ArrayList<>(List.of(cache.open()));
        int full = 0;
        for (int step = 0; step < 3000; step++) {
            int sequence = open.get(random.nextInt(open.size()));
            long available = cache.availableTokens();
            switch (random.nextInt(6)) {
                case 0 -> {
                    if (open.size() < 5) {
                        open.add(cache.fork(sequence));
                    }
                }
                case 1 -> cache.snapshot(sequence);
                case 2 -> {
                    long length = random.nextLong(cache.length(sequence) + 1);
                    long freed = cache.freedTokens(sequence, length);
                    cache.truncate(sequence, cache.restorable(sequence, length));
                    assertEquals(available + freed, cache.availableTokens());
                }
                case 3 -> {
                    if (open.size() > 1) {
                        open.remove((Integer) sequence);
                        cache.close(sequence);
                    }
                }
                default -> {
                    long needed = cache.neededTokens(sequence, 3);
                    if (needed > available) {
                        full++;
                        long length = cache.length(0, sequence);
                        assertThrows(CacheFullException.class, () -> cache.states(0, sequence, 3));
                        assertEquals(length, cache.length(0, sequence));
                    } else {
                        cache.states(0, sequence, 3);
                        cache.states(1, sequence, 3);
                        assertEquals(available - needed, cache.availableTokens());
                    }
                }
            }
            assertTrue(cache.usedBytes() <= 7 * cache.bytesPerSequence());
        }
        assertTrue(full > 5, full + " times full");
        assertEquals(
                "states: 0; expected at least 1",
                assertThrows(IllegalArgumentException.class, () -> cache.limitStates(0))
                        .getMessage());
    }

    @Test
    void aSequenceHasThreeSnapshotsAtMost() {
        RecurrentCache cache = RecurrentCache.of(4);
        int sequence = cache.open();
        for (int length : new int[] {100, 200, 203, 206, 209}) {
            cache.states(0, sequence, length - cache.length(sequence));
            cache.snapshot(sequence);
        }
        cache.states(0, sequence, 1);
        assertEquals(4 * cache.bytesPerSequence(), cache.usedBytes());
        assertEquals(209, cache.restorable(sequence, 209));
        assertEquals(200, cache.restorable(sequence, 208));
        assertEquals(100, cache.restorable(sequence, 199));
    }

    @Test
    void aLoadThatFailsLeavesNoSequence() throws IOException {
        RecurrentCache cache = RecurrentCache.of(4);
        int[] sequences = {cache.open(), cache.open()};
        for (int sequence : sequences) {
            cache.states(0, sequence, 2);
        }
        Path file = folder.resolve("states");
        CacheSession.save(CPU, cache, file, sequences);
        RecurrentCache to = RecurrentCache.of(4);
        SessionStates loader;
        try (Arena arena = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(arena, file);
            Map<String, String> metadata = new HashMap<>();
            saved.metadata().forEach((name, text) -> metadata.put(name.replaceFirst("^part 0 ", ""), text));
            loader = new SessionStates(to, saved, metadata, "part.0.");
        }
        assertThrows(IllegalStateException.class, () -> loader.open(CPU), "the file is not mapped");
        assertEquals(0, to.usedBytes());
        assertEquals(0, to.open());
    }
}

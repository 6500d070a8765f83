package io.multihead.cache;

import static io.multihead.faults.Named.named;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.position.Rope;
import io.multihead.position.RopeSections;
import io.multihead.support.ChildJvm;
import io.multihead.support.Tokens;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Session files are read by another process, and files that do not fit the cache are refused. */
class CacheSessionTest {
    private static final Compute CPU = Compute.serial();
    private static final Config CONFIG =
            Config.of(2, 2, 8).withValueDim(6).withFormat(CacheFormat.I8).withRopes(rope(500));

    @TempDir
    Path folder;

    private static Rope rope(double theta) {
        return Rope.of(Rope.Config.of(8).withTheta(theta));
    }

    private static Config config(DType dtype) {
        return CONFIG.withFormat(CacheFormat.of(dtype));
    }

    /** Returns a cache with a prefix of 300 tokens, and a fork that has 30 more tokens and has evicted the first 270. */
    private static KeyValueCache filled(Config config) {
        KeyValueCache cache = KeyValueCache.paged(config, 1L << 20);
        int prefix = cache.open();
        append(cache, prefix, 300, 1);
        int fork = cache.fork(prefix);
        append(cache, fork, 30, 2);
        cache.slide(fork, 270);
        return cache;
    }

    private static void append(KeyValueCache cache, int sequence, int tokens, long seed) {
        Config config = cache.config();
        for (int layer = 0; layer < config.layers(); layer++) {
            Tensor key = Tokens.gaussian(1, config.heads(), tokens, config.headDim(), seed + layer);
            Tensor value = Tokens.gaussian(1, config.heads(), tokens, config.valueDim(), seed + layer + 10);
            cache.append(CPU, layer, sequence, key, value);
        }
    }

    /** Continues both sequences and a fork of each, and returns the bits of all results. */
    private static String decode(KeyValueCache cache, int... sequences) {
        StringBuilder bits = new StringBuilder();
        for (int sequence : sequences) {
            int fork = cache.fork(sequence);
            append(cache, fork, 5, 20 + bits.length());
            append(cache, sequence, 3, 40 + bits.length());
            for (int layer = 0; layer < cache.config().layers(); layer++) {
                bits.append(Arrays.toString(RandomCache.attend(cache, layer, fork, CPU)));
                bits.append(Arrays.toString(RandomCache.attend(cache, layer, sequence, CPU)));
            }
        }
        return bits.toString();
    }

    /** The process that {@link #aPrefixSurvivesARestart} starts. */
    public static final class Restarted {
        public static void main(String[] arguments) throws IOException {
            KeyValueCache cache = KeyValueCache.contiguous(CONFIG, 6, 512);
            System.out.println(decode(cache, CacheSession.load(CPU, cache, Path.of(arguments[0]))));
        }
    }

    @Test
    void aPrefixSurvivesARestart() throws IOException, InterruptedException {
        Path file = folder.resolve("session.safetensors");
        KeyValueCache cache = filled(CONFIG);
        CacheSession.save(CPU, cache, file, 0, 1);
        List<String> printed = ChildJvm.run(Restarted.class, List.of(), file.toString());
        // the result is the last line, because the JVM prints a warning for the incubating module first
        assertEquals(decode(cache, 0, 1), printed.getLast());
    }

    @Test
    void aFileHoldsSharedTokensOnceAndNoneThatWereDropped() throws IOException {
        KeyValueCache cache = filled(config(DType.F32));
        Path file = folder.resolve("session");
        CacheSession.save(CPU, cache, file, 0, 1);
        try (Arena arena = Arena.ofConfined()) {
            // 300 tokens are in five blocks; the fork has evicted the blocks that it shared, and has two separate
            // blocks
            Tensor key = Safetensors.map(arena, file).get("layer.1.key");
            assertEquals(
                    List.of(2L, 7L * 64, 8L),
                    Arrays.stream(key.shape().toArray()).boxed().toList());
        }
        cache.slide(0, 290);
        CacheSession.save(CPU, cache, file, 0);
        try (Arena arena = Arena.ofConfined()) {
            Tensor key = Safetensors.map(arena, file).get("layer.0.key");
            assertEquals(64, key.dim(1));
            assertEquals(0, key.get(0, 290 % 64 - 1, 0));
            assertTrue(key.get(0, 290 % 64, 0) != 0 && key.get(0, 299 % 64, 0) != 0);
            assertEquals(0, key.get(0, 300 % 64, 0));
        }
    }

    /**
     * Two sequences share a block. One sequence has its first tokens, the other has its last tokens, and no sequence has the tokens
     * between.
     */
    @Test
    void aFileHoldsNoTokensBetweenThoseThatSequencesHave() throws IOException {
        Config config = config(DType.F32);
        KeyValueCache cache = KeyValueCache.paged(config, 1L << 20);
        int start = cache.open();
        append(cache, start, 64, 1);
        int end = cache.fork(start);
        cache.truncate(start, 10);
        cache.slide(end, 40);
        Path file = folder.resolve("session");
        CacheSession.save(CPU, cache, file, start, end);
        try (Arena arena = Arena.ofConfined()) {
            Safetensors saved = Safetensors.map(arena, file);
            for (String name : List.of("layer.0.key", "layer.1.key", "layer.0.value", "layer.1.value")) {
                Tensor tensor = saved.get(name);
                for (int token = 0; token < 64; token++) {
                    boolean kept = token < 10 || token >= 40;
                    assertEquals(kept, tensor.get(1, token, 0) != 0, name + ", token " + token);
                }
            }
        }
        KeyValueCache loaded = KeyValueCache.paged(config, 1L << 20);
        assertArrayEquals(new int[] {0, 1}, CacheSession.load(CPU, loaded, file));
        assertEquals(decode(cache, start, end), decode(loaded, 0, 1));
    }

    /** The page has 512 tokens and was filled by another sequence before. */
    @Test
    void aFileHoldsNothingOfAnotherSequenceOrOfBlocksWithoutTokens() throws IOException {
        KeyValueCache cache = KeyValueCache.contiguous(config(DType.F32), 1, 512);
        append(cache, 0, 512, 1);
        cache.truncate(0, 0);
        append(cache, 0, 10, 2);
        Path file = folder.resolve("short");
        CacheSession.save(CPU, cache, file, 0);
        try (Arena arena = Arena.ofConfined()) {
            Tensor key = Safetensors.map(arena, file).get("layer.1.key");
            assertEquals(64, key.dim(1));
            assertTrue(key.get(1, 9, 0) != 0);
            assertEquals(0, key.get(1, 10, 0));
            assertEquals(0, key.get(1, 63, 7));
        }
    }

    @Test
    void nothingIsASessionToo() throws IOException {
        KeyValueCache cache = filled(CONFIG);
        CacheSession.save(CPU, cache, folder.resolve("none"));
        assertEquals(0, CacheSession.load(CPU, cache, folder.resolve("none")).length);
        int empty = cache.open();
        Path file = folder.resolve("empty");
        CacheSession.save(CPU, cache, file, empty);
        int loaded = CacheSession.load(CPU, cache, file)[0];
        assertEquals(0, cache.length(1, loaded));
        // a reduced failure: the file names block 0 of tensors without tokens
        broken(file, "sequence 0 blocks", "0", "sequence 0 blocks: 0; expected -1 to -1");
    }

    @Test
    void filesForOtherCachesNameTheFieldAndBothValues() throws IOException {
        Path file = folder.resolve("session");
        CacheSession.save(CPU, filled(CONFIG), file, 0);
        rejected(
                Config.of(3, 2, 8).withValueDim(6).withFormat(CacheFormat.I8).withRopes(rope(500)),
                file,
                "layers: 2; expected 3");
        rejected(
                Config.of(2, 1, 8).withValueDim(6).withFormat(CacheFormat.I8).withRopes(rope(500)),
                file,
                "heads: 2; expected 1");
        rejected(
                Config.of(2, 2, 9).withValueDim(6).withFormat(CacheFormat.I8).withRopes(rope(500)),
                file,
                "headDim: 8; expected 9");
        rejected(CONFIG.withValueDim(7), file, "valueDim: 6; expected 7");
        rejected(CONFIG.withFormat(CacheFormat.F16), file, "dtype: I8; expected F16");
        rejected(CONFIG.withRopes(), file, "ropes: {rotaryDims=8, theta=500.0");
        rejected(CONFIG.withRopes(rope(500), rope(501)), file, "\"theta\":501.0");
        KeyValueCache same = KeyValueCache.paged(CONFIG.withRopes(rope(500), rope(500)), 1L << 20);
        assertEquals(300, same.length(0, CacheSession.load(CPU, same, file)[0]));
    }

    /**
     * The sections of M-RoPE determine the position that rotates a pair, so a cache with other sections would rotate new keys differently.
     */
    @Test
    void sectionsOfRotaryEmbeddingsAreInTheFile() throws IOException {
        Path file = folder.resolve("session");
        Config consecutive = CONFIG.withRopes(rope(500).withSections(RopeSections.consecutive(2, 1, 1)));
        CacheSession.save(CPU, KeyValueCache.paged(consecutive, 1L << 20), file);
        KeyValueCache same = KeyValueCache.paged(consecutive, 1L << 20);
        assertEquals(0, CacheSession.load(CPU, same, file).length);
        rejected(CONFIG.withRopes(rope(500).withSections(RopeSections.interleaved(2, 1, 1))), file, "ropes: {");
        rejected(CONFIG, file, "ropes: {");
    }

    @Test
    void tablesOfRotaryEmbeddingsCannotBeNamed() throws IOException {
        Path file = folder.resolve("session");
        CacheSession.save(CPU, KeyValueCache.paged(CONFIG, 1L << 20), file);
        Tensor table = Tensor.zeros(Arena.ofAuto(), DType.F32, 10, 4);
        Config tables = CONFIG.withRopes(Rope.ofTables(table, table, Rope.Pairing.HALF_SPLIT));
        rejected(tables, file, "rotates by the tables cos and sin [10, 4], HALF_SPLIT");
        Path other = folder.resolve("other");
        KeyValueCache cache = KeyValueCache.paged(tables, 1L << 20);
        assertThrows(IllegalArgumentException.class, () -> CacheSession.save(CPU, cache, other));
        assertFalse(Files.exists(other));
    }

    @Test
    void brokenFilesAreNamed() throws IOException {
        Path file = folder.resolve("session");
        CacheSession.save(CPU, filled(CONFIG), file, 0);
        byte[] whole = Files.readAllBytes(file);
        for (int length : new int[] {0, 7, 9, 200, whole.length / 2, whole.length - 1}) {
            Files.write(file, Arrays.copyOf(whole, length));
            rejected(CONFIG, file, "expected");
        }
        Files.write(file, whole);
        broken(file, "format", null, "format: null; expected multihead");
        broken(file, "sequences", "2", "sequence 1 firstKey: null");
        broken(file, "sequences", "-1", "sequences: -1");
        broken(file, "sequences", "9999999999", "sequences: 9999999999");
        broken(file, "sequence 0 firstKey", "301", "sequence 0 lengths: [300, 300]");
        broken(file, "sequence 0 firstKey", "9007199254740992", "sequence 0 firstKey");
        broken(file, "sequence 0 lengths", "300", "sequence 0 lengths: 1 elements");
        broken(file, "sequence 0 lengths", "300 9007199254740991", "sequence 0 blocks: 5 of them");
        broken(file, "sequence 0 lengths", "300 x", "sequence 0 lengths: x");
        broken(file, "sequence 0 blocks", "0 1 2 3 5", "sequence 0 blocks: 5");
        broken(file, "sequence 0 blocks", "0 1 2 3 -2", "sequence 0 blocks: -2");
        broken(file, "sequence 0 blocks", "0  1 2 3", "sequence 0 blocks: \"\";");
        broken(file, "tensor layer.1.value", null, "layer.1.value");
        broken(file, "tensor layer.1.key_scale", null, "layer.1.key_scale");
        assertThrows(IOException.class, () -> CacheSession.load(CPU, filled(CONFIG), folder.resolve("missing")));
    }

    @Test
    void tensorsOfOtherSizesAreNamed() throws IOException {
        Path file = folder.resolve("session");
        CacheSession.save(CPU, filled(CONFIG), file, 0);
        Path changed = folder.resolve("changed");
        changed(file, changed, (name, tensor) -> tensor.slice(1, 0, 319));
        rejected(CONFIG, changed, "layer.0.key: 319 tokens; expected a multiple of 64");
        changed(file, changed, (name, tensor) -> name.equals("layer.0.key") ? tensor.select(0, 0) : tensor);
        rejected(CONFIG, changed, "layer.0.key: I8 [320, 8]; expected I8 [2, 0, 8]");
        changed(file, changed, (name, tensor) -> name.equals("layer.1.key") ? tensor.slice(1, 0, 64) : tensor);
        rejected(CONFIG, changed, "layer.1.key: I8 [2, 64, 8]");
        for (String part : List.of("key", "value", "key_scale", "value_scale")) {
            DType wrong = part.endsWith("scale") ? DType.F64 : DType.F32;
            changed(
                    file,
                    changed,
                    (name, tensor) -> name.equals("layer.1." + part) ? tensor.copy(Arena.ofAuto(), wrong) : tensor);
            rejected(CONFIG, changed, "layer.1." + part + ": " + wrong + " [2, 320");
        }
        broken(file, "sequence 0 lengths", null, "sequence 0 lengths: not in the file; expected numbers");
    }

    /** Writes a copy of a file with some changed tensors. */
    private static void changed(Path file, Path to, BiFunction<String, Tensor, Tensor> change) throws IOException {
        try (Arena arena = Arena.ofShared()) {
            Safetensors read = Safetensors.map(arena, file);
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            read.names().forEach(name -> tensors.put(name, read.get(name)));
            Map<String, String> metadata = new LinkedHashMap<>(read.metadata());
            SessionModel.removeChecksums(metadata, tensors);
            tensors.replaceAll(change);
            Safetensors.write(to, tensors, metadata);
        }
    }

    /** Writes a copy of a file with one field changed or omitted, and checks the message. */
    private void broken(Path file, String field, String value, String message) throws IOException {
        Path changed = folder.resolve("changed");
        try (Arena arena = Arena.ofShared()) {
            Safetensors read = Safetensors.map(arena, file);
            Map<String, String> metadata = new LinkedHashMap<>(read.metadata());
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            read.names().forEach(name -> tensors.put(name, read.get(name)));
            SessionModel.removeChecksums(metadata, tensors);
            metadata.remove(field);
            if (value != null) {
                metadata.put(field, value);
            }
            tensors.remove(field.replace("tensor ", ""));
            Safetensors.write(changed, tensors, metadata);
        }
        rejected(CONFIG, changed, message);
    }

    private static void rejected(Config config, Path file, String message) {
        KeyValueCache cache = KeyValueCache.paged(config, 1L << 20);
        IllegalArgumentException thrown =
                assertThrows(IllegalArgumentException.class, () -> CacheSession.load(CPU, cache, file));
        assertTrue(
                thrown.getMessage().startsWith(file.toString())
                        && thrown.getMessage().contains(message),
                thrown.getMessage());
        assertEquals(0, cache.usedBytes());
        assertEquals(0, cache.open());
    }

    @Test
    void aCacheWithoutRoomStaysAsItWas() throws IOException {
        Path file = folder.resolve("session");
        KeyValueCache saved = filled(CONFIG);
        CacheSession.save(CPU, saved, file, 0, 1);
        long page = 64 * saved.bytesPerToken();
        long pages = saved.usedBytes() / page;
        KeyValueCache small = KeyValueCache.paged(CONFIG, pages * page);
        int before = small.open();
        append(small, before, 10, 1);
        int[] bits = RandomCache.attend(small, 0, before, CPU);
        CacheFullException full = assertThrows(CacheFullException.class, () -> CacheSession.load(CPU, small, file));
        assertTrue(full.getMessage().startsWith("cache: " + pages + " pages"), full.getMessage());
        KeyValueCache shallow = KeyValueCache.contiguous(CONFIG, 9, 256);
        assertThrows(CacheFullException.class, () -> CacheSession.load(CPU, shallow, file));
        Compute closed = Compute.threads(2);
        closed.close();
        assertThrows(IllegalStateException.class, () -> CacheSession.load(closed, shallow, file));
        assertEquals(page, small.usedBytes());
        assertArrayEquals(bits, RandomCache.attend(small, 0, before, CPU));
        small.close(before);
        assertArrayEquals(new int[] {0, 1}, CacheSession.load(CPU, small, file));
        assertEquals(0, small.availableTokens());
    }

    @Test
    void aConfinedCacheIsRefusedBeforeAFileIsBegun() throws IOException {
        try (Arena confined = Arena.ofConfined();
                Compute cpu = Compute.threads(2)) {
            KeyValueCache cache = KeyValueCache.paged(confined, CONFIG, 1L << 20);
            int sequence = cache.open();
            append(cache, sequence, 200, 1);
            // the folder does not exist, so that an attempt to create the file would cause another error
            Path file = folder.resolve("missing").resolve("session");
            named("cache", () -> CacheSession.save(cpu, cache, file, sequence));
        }
    }

    @Test
    void aSaveThatFailsLeavesTheOldFile() throws IOException {
        Path file = folder.resolve("session");
        KeyValueCache cache = filled(CONFIG);
        CacheSession.save(CPU, cache, file, 1);
        byte[] before = Files.readAllBytes(file);
        Compute closed = Compute.threads(2);
        closed.close();
        assertThrows(IllegalStateException.class, () -> CacheSession.save(closed, cache, file, 0));
        assertThrows(IllegalArgumentException.class, () -> CacheSession.save(CPU, cache, file, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> CacheSession.save(CPU, cache, file, 9));
        assertArrayEquals(before, Files.readAllBytes(file));
        try (var files = Files.list(folder)) {
            assertEquals(List.of(file), files.toList());
        }
    }

    @Test
    void notesComeBackAndMayBeRefused() throws IOException {
        KeyValueCache cache = filled(CONFIG);
        Path file = folder.resolve("noted");
        Map<String, String> notes = Map.of("model", "of mine", "", "no name", "layers", "7");
        CacheSession.save(CPU, cache, file, notes, 0, 1);
        KeyValueCache other = KeyValueCache.paged(CONFIG, 1L << 20);
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> CacheSession.load(CPU, other, file, read -> {
                            assertEquals(notes, read);
                            throw new IllegalArgumentException("model: of mine; expected yours");
                        }))
                .getMessage();
        assertEquals(file + ": model: of mine; expected yours", message);
        assertEquals(0, other.usedBytes());
        assertArrayEquals(new int[] {0, 1}, CacheSession.load(CPU, other, file, read -> {}));
        assertEquals(decode(cache, 0, 1), decode(other, 0, 1));
    }
}

package io.multihead.cache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.KeyValueCache.Config;
import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import io.multihead.position.RopeSections;
import io.multihead.support.Tokens;
import io.multihead.support.Tries;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Session files have the documented fields, files of all earlier versions are read, and damaged files are refused. */
class SessionFormatTest {
    private static final Compute CPU = Compute.serial();
    private static final Path FIRST = Path.of("src/test/resources/golden/session/version-1.safetensors");

    @TempDir
    Path folder;

    /** The file was written in version 1 from {@link SessionModel#filled}. */
    @Test
    void filesOfVersionOneAreRead() throws IOException {
        KeyValueCache expected = SessionModel.filled(CPU);
        KeyValueCache loaded = KeyValueCache.paged(SessionModel.config(), 1L << 20);
        assertArrayEquals(new int[] {0, 1}, CacheSession.load(CPU, loaded, FIRST));
        for (int layer = 0; layer < SessionModel.config().layers(); layer++) {
            for (int sequence : new int[] {0, 1}) {
                assertEquals(40, loaded.length(layer, sequence));
                assertArrayEquals(
                        RandomCache.attend(expected, layer, sequence, CPU),
                        RandomCache.attend(loaded, layer, sequence, CPU),
                        "layer " + layer + ", sequence " + sequence);
            }
        }
    }

    @Test
    void filesOfVersionOneForOtherRotationsAreRefused() {
        Config config = SessionModel.config();
        Rope[] ropes = config.ropes().toArray(Rope[]::new);
        for (int layer = 0; layer < ropes.length; layer++) {
            Rope[] changed = ropes.clone();
            changed[layer] = Rope.of(ropes[layer].config().withTheta(600));
            refused(config.withRopes(changed), FIRST, "ropes: Config[");
        }
        RopeScaling.Yarn yarn = (RopeScaling.Yarn) SessionModel.SCALINGS.get(3);
        Rope[] changed = ropes.clone();
        changed[3] = Rope.of(ropes[3].config().withScaling(yarn.withTruncate(false)));
        refused(config.withRopes(changed), FIRST, "ropes: Config[");
        refused(config.withRopes(), FIRST, "expected none, as the cache has");
    }

    @Test
    void filesNameTheFieldsOfRotations() throws IOException {
        Path file = folder.resolve("session");
        Rope rope = Rope.of(Rope.Config.of(8).withScaling(new RopeScaling.Llama3(8, 1, 4, 8192)));
        Config config = Config.of(2, 1, 8).withRopes(rope.withSections(RopeSections.interleaved(2, 1, 1)));
        CacheSession.save(CPU, KeyValueCache.paged(config, 1L << 20), file);
        assertEquals("multihead cache session 4", metadata(file).get("format"));
        assertEquals("""
                {"layers":[{"rotaryDims":8,"theta":10000.0,"pairing":"HALF_SPLIT","scaling":{"type":"Llama3","factor":8.0,\
                "lowFrequencyFactor":1.0,"highFrequencyFactor":4.0,"originalContext":8192},"sections":"interleaved[2, 1, 1]"}]}""", metadata(file).get("ropes"));
        Path plain = folder.resolve("plain");
        CacheSession.save(CPU, KeyValueCache.paged(config.withRopes(), 1L << 20), plain);
        assertEquals("{\"layers\":[null]}", metadata(plain).get("ropes"));
    }

    /** The names in a file are the names of the record components, so that a new component must be added to the file. */
    @Test
    void everyNumberOfAScalingIsNamed() {
        List<Class<?>> known =
                SessionModel.SCALINGS.stream().<Class<?>>map(Object::getClass).toList();
        assertEquals(List.of(RopeScaling.class.getPermittedSubclasses()), known);
        for (RopeScaling scaling : SessionModel.SCALINGS) {
            assertEquals(
                    Arrays.stream(scaling.getClass().getRecordComponents())
                            .map(RecordComponent::getName)
                            .collect(Collectors.toSet()),
                    SessionRopes.numbers(scaling).keySet());
        }
        assertEquals(4, Rope.Config.class.getRecordComponents().length);
    }

    @Test
    void everyScalingComesBackAndNoOther() throws IOException {
        Path file = folder.resolve("session");
        Config config = SessionModel.config();
        CacheSession.save(CPU, SessionModel.filled(CPU), file, 0);
        KeyValueCache same = KeyValueCache.paged(config, 1L << 20);
        assertEquals(40, same.length(0, CacheSession.load(CPU, same, file)[0]));
        Rope[] ropes = config.ropes().toArray(Rope[]::new);
        for (int layer = 0; layer < ropes.length; layer++) {
            Rope[] changed = ropes.clone();
            changed[layer] = Rope.of(ropes[layer].config().withScaling(new RopeScaling.Linear(3)));
            refused(config.withRopes(changed), file, "ropes of layer " + layer + ": {");
        }
    }

    @Test
    void onlyTheValuesCount() throws IOException {
        Path file = folder.resolve("session");
        Config config = Config.of(2, 1, 8).withRopes(Rope.of(Rope.Config.of(8)));
        CacheSession.save(CPU, KeyValueCache.paged(config, 1L << 20), file);
        KeyValueCache cache = KeyValueCache.paged(config, 1L << 20);
        Path spaced = changed(file, "ropes", text -> text.replace(",", " , ").replace("10000.0", "1e4"));
        assertEquals(0, CacheSession.load(CPU, cache, spaced).length);
        refused(config, changed(file, "ropes", text -> text.substring(1)), "ropes: ");
        refused(config, changed(file, "ropes", text -> ""), "ropes: ");
        refused(config, changed(file, "ropes", text -> text.replace("None", "Other")), "type=Other");
        String format = "format: multihead cache session 5; expected multihead cache session 4 or an earlier one";
        refused(config, changed(file, "format", text -> text.replace('3', '5')), format);
    }

    /** The file was written in version 2 from {@link SessionModel#filled}. */
    @Test
    void filesOfVersionTwoAreRead() throws IOException {
        Path second = FIRST.resolveSibling("version-2.safetensors");
        assertEquals("multihead cache session 2", metadata(second).get("format"));
        KeyValueCache expected = SessionModel.filled(CPU);
        KeyValueCache loaded = KeyValueCache.paged(SessionModel.config(), 1L << 20);
        assertArrayEquals(new int[] {0, 1}, CacheSession.load(CPU, loaded, second));
        for (int layer = 0; layer < SessionModel.config().layers(); layer++) {
            assertArrayEquals(RandomCache.attend(expected, layer, 1, CPU), RandomCache.attend(loaded, layer, 1, CPU));
        }
    }

    /** The file was written in version 3 from {@link SessionModel#filledBlocks}. */
    @Test
    void filesOfVersionThreeAreRead() throws IOException {
        assertBlocks(FIRST.resolveSibling("version-3.safetensors"), 3);
    }

    /**
     * The file was written in version 4 from {@link SessionModel#filledBlocks}. The current build writes the same bytes, including
     * checksums.
     */
    @Test
    void filesOfVersionFourAreRead() throws IOException {
        Path fourth = FIRST.resolveSibling("version-4.safetensors");
        assertBlocks(fourth, 4);
        Path file = folder.resolve("session");
        CacheSession.save(CPU, SessionModel.filledBlocks(CPU), file, 0, 1);
        assertArrayEquals(Files.readAllBytes(fourth), Files.readAllBytes(file));
    }

    private static void assertBlocks(Path file, int version) throws IOException {
        assertEquals("multihead cache session " + version, metadata(file).get("format"));
        KeyValueCache expected = SessionModel.filledBlocks(CPU);
        KeyValueCache loaded = KeyValueCache.paged(SessionModel.blocks(), 1L << 20);
        assertArrayEquals(new int[] {0, 1}, CacheSession.load(CPU, loaded, file));
        for (int sequence : new int[] {0, 1}) {
            assertEquals(expected.length(0, sequence), loaded.length(0, sequence));
            assertArrayEquals(
                    RandomCache.attend(expected, 0, sequence, CPU), RandomCache.attend(loaded, 0, sequence, CPU));
        }
    }

    /**
     * If any one byte of a file is changed, the error names the path, or the loaded sequence is the same, because a file contains white
     * space. A run with fewer tries changes about a quarter of the bytes.
     */
    @Test
    void aChangedByteIsNoticed() throws IOException {
        Path file = folder.resolve("session");
        Config config = Config.of(1, 1, 2).withRopes(Rope.of(Rope.Config.of(2)));
        KeyValueCache cache = KeyValueCache.paged(config, 1L << 20);
        int sequence = cache.open();
        cache.append(CPU, 0, sequence, Tokens.gaussian(1, 1, 40, 2, 1), Tokens.gaussian(1, 1, 40, 2, 2));
        CacheSession.save(CPU, cache, file, Map.of("tokens", "5 6 7"), sequence);
        byte[] whole = Files.readAllBytes(file);
        int[] bits = RandomCache.attend(cache, 0, sequence, CPU);
        SplittableRandom random = new SplittableRandom(1);
        int taken = 0;
        int most = Tries.factor() < 1 ? 8 : 1;
        for (int at = 0; at < whole.length; at += 1 + random.nextInt(most)) {
            byte[] changed = whole.clone();
            changed[at] ^= (byte) (1 << random.nextInt(8));
            Files.write(file, changed);
            KeyValueCache other = KeyValueCache.paged(config, 1L << 20);
            try {
                int loaded =
                        CacheSession.load(CPU, other, file, notes -> assertEquals(Map.of("tokens", "5 6 7"), notes))[0];
                assertEquals(40, other.length(0, loaded));
                assertArrayEquals(bits, RandomCache.attend(other, 0, loaded, CPU));
                taken++;
            } catch (IllegalArgumentException named) {
                assertTrue(named.getMessage().startsWith(file + ": "), named.getMessage());
                assertEquals(0, other.usedBytes());
            }
        }
        // only changed spaces behind the header are accepted, which are fewer than a cache line
        assertTrue(taken < 64, taken + " files were taken");
    }

    @Test
    void whatWasChangedIsNamed() throws IOException {
        Path file = folder.resolve("session");
        CacheSession.save(CPU, SessionModel.filledBlocks(CPU), file, 0, 1);
        byte[] whole = Files.readAllBytes(file);
        byte[] changed = whole.clone();
        int checksums = Integer.BYTES * (1 + 4);
        // keys, values, scales of keys and scales of values precede the checksums; this changes the last byte of a
        // scale of values
        changed[whole.length - checksums - 1] ^= 1;
        Files.write(file, changed);
        refused(SessionModel.blocks(), file, "tensor \"layer.0.value_scale\": CRC-32C ");
        changed = whole.clone();
        changed[whole.length - 1] ^= 1;
        Files.write(file, changed);
        refused(SessionModel.blocks(), file, "tensor \"layer.0.value_scale\": CRC-32C ");
        String text = new String(whole, StandardCharsets.ISO_8859_1)
                .replace("sequence 1 lengths\":\"30", "sequence 1 lengths\":\"31");
        Files.write(file, text.getBytes(StandardCharsets.ISO_8859_1));
        refused(SessionModel.blocks(), file, "metadata: CRC-32C ");
    }

    /** A file records whether keys have a scale for each block, and a cache of another format refuses it. */
    @Test
    void scalesOfBlocksAreNamed() throws IOException {
        Path blocks = folder.resolve("blocks");
        Path plain = folder.resolve("plain");
        Config config = Config.of(1, 1, 70).withFormat(CacheFormat.I8_BLOCKS);
        CacheSession.save(CPU, KeyValueCache.paged(config, 1L << 20), blocks);
        CacheSession.save(CPU, KeyValueCache.paged(config.withFormat(CacheFormat.I8), 1L << 20), plain);
        assertEquals(0, CacheSession.load(CPU, KeyValueCache.paged(config, 1L << 20), blocks).length);
        refused(config, plain, "keyScales: at most one a key; expected 3 a key, as the cache has");
        refused(
                config.withFormat(CacheFormat.I8),
                blocks,
                "keyScales: 3 a key; expected at most one a key, as the cache has");
        refused(config, changed(blocks, "keyScales", text -> "4 a key"), "keyScales: 4 a key; expected 3 a key");
    }

    private static Map<String, String> metadata(Path file) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            return Safetensors.map(arena, file).metadata();
        }
    }

    /** Returns a copy of a file with one field changed. */
    private Path changed(Path file, String field, UnaryOperator<String> change) throws IOException {
        Path copy = Files.createTempFile(folder, "changed", "");
        try (Arena arena = Arena.ofShared()) {
            Safetensors read = Safetensors.map(arena, file);
            Map<String, String> metadata = new LinkedHashMap<>(read.metadata());
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            read.names().forEach(name -> tensors.put(name, read.get(name)));
            SessionModel.removeChecksums(metadata, tensors);
            metadata.compute(field, (name, text) -> change.apply(text));
            Safetensors.write(copy, tensors, metadata);
        }
        return copy;
    }

    private static void refused(Config config, Path file, String message) {
        KeyValueCache cache = KeyValueCache.paged(config, 1L << 20);
        IllegalArgumentException thrown =
                assertThrows(IllegalArgumentException.class, () -> CacheSession.load(CPU, cache, file));
        assertTrue(thrown.getMessage().startsWith(file + ": "), thrown.getMessage());
        assertTrue(thrown.getMessage().contains(message), thrown.getMessage());
        assertEquals(0, cache.usedBytes());
    }
}

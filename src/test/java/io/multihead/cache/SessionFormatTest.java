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
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Session files of all versions: what they name, and that the first version's are read still. */
class SessionFormatTest {
    private static final Compute CPU = Compute.serial();
    private static final Path FIRST = Path.of("src/test/resources/golden/session/version-1.safetensors");

    @TempDir
    Path folder;

    /** Written by a build of version 1 from {@link SessionModel#filled}. */
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
        assertEquals("multihead cache session 2", metadata(file).get("format"));
        assertEquals("""
                {"layers":[{"rotaryDims":8,"theta":10000.0,"pairing":"HALF_SPLIT","scaling":{"type":"Llama3","factor":8.0,\
                "lowFrequencyFactor":1.0,"highFrequencyFactor":4.0,"originalContext":8192},"sections":"interleaved[2, 1, 1]"}]}""", metadata(file).get("ropes"));
        Path plain = folder.resolve("plain");
        CacheSession.save(CPU, KeyValueCache.paged(config.withRopes(), 1L << 20), plain);
        assertEquals("{\"layers\":[null]}", metadata(plain).get("ropes"));
    }

    /** The names in a file are those of today's components, so that one that is added is in the file. */
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
        String format = "format: multihead cache session 4; expected multihead cache session 2, as the cache has";
        refused(config, changed(file, "format", text -> text.replace('2', '4')), format);
    }

    /** Written by a build of version 2 from {@link SessionModel#filled}. */
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

    /** Files of caches with a scale per block are of version 3, and no other cache takes them. */
    @Test
    void scalesOfBlocksAreNamed() throws IOException {
        Path blocks = folder.resolve("blocks");
        Path plain = folder.resolve("plain");
        Config config = Config.of(1, 1, 70).withFormat(CacheFormat.I8_BLOCKS);
        CacheSession.save(CPU, KeyValueCache.paged(config, 1L << 20), blocks);
        CacheSession.save(CPU, KeyValueCache.paged(config.withFormat(CacheFormat.I8), 1L << 20), plain);
        assertEquals("multihead cache session 3", metadata(blocks).get("format"));
        assertEquals("multihead cache session 2", metadata(plain).get("format"));
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
            return Safetensors.map(file, arena).metadata();
        }
    }

    /** Returns a copy of a file with one field changed. */
    private Path changed(Path file, String field, UnaryOperator<String> change) throws IOException {
        Path copy = Files.createTempFile(folder, "changed", "");
        try (Arena arena = Arena.ofShared()) {
            Safetensors read = Safetensors.map(file, arena);
            Map<String, String> metadata = new LinkedHashMap<>(read.metadata());
            metadata.compute(field, (name, text) -> change.apply(text));
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            read.names().forEach(name -> tensors.put(name, read.get(name)));
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

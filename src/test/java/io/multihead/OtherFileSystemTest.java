package io.multihead;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheSession;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TinyModel;
import io.multihead.format.Safetensors;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.load.StoredPanels;
import io.multihead.support.Tokens;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files can be written and read on other file systems, such as an archive, whose files cannot be mapped. */
class OtherFileSystemTest {
    private static final Compute CPU = Compute.serial();

    @TempDir
    Path folder;

    private FileSystem archive;
    private Path inside;

    @BeforeEach
    void open() throws IOException {
        archive = FileSystems.newFileSystem(folder.resolve("model.jar"), Map.of("create", "true"));
        inside = Files.createDirectory(archive.getPath("/model"));
    }

    @AfterEach
    void close() throws IOException {
        archive.close();
    }

    @Test
    void aModelInAnArchiveHasTheVectorsOfItsFolder() throws IOException {
        TinyModel.write(inside);
        Path packed = inside.resolve("packed");
        try (SentenceEncoder expected = SentenceEncoder.load(CPU, TinyModel.write(folder.resolve("plain")));
                SentenceEncoder actual = SentenceEncoder.load(CPU, inside)) {
            assertArrayEquals(expected.embed("abc de"), actual.embed("abc de"));
            assertEquals(0, actual.mappedBytes());
            assertEquals(expected.ownBytes() + expected.mappedBytes(), actual.ownBytes());
            expected.write(packed);
            try (SentenceEncoder mapped = SentenceEncoder.map(CPU, packed)) {
                assertArrayEquals(expected.embed("abc de"), mapped.embed("abc de"));
                assertEquals(0, mapped.mappedBytes());
            }
        }
    }

    @Test
    void tensorsAndPackedWeightsInAnArchiveAreRead() throws IOException {
        Tensor matrix = Tokens.gaussian(1, 1, 70, 33, 5).reshape(70, 33);
        Path tensors = inside.resolve("tensors");
        Path weights = inside.resolve("weights");
        Safetensors.write(tensors, Map.of("matrix", matrix), Map.of());
        PackedWeights packed = PackedWeights.ofInputRows(matrix);
        packed.write(weights);
        try (Arena arena = Arena.ofShared()) {
            assertArrayEquals(
                    matrix.toArray(),
                    Safetensors.map(arena, tensors).get("matrix").toArray());
            assertArrayEquals(
                    StoredPanels.of(packed).toArray(),
                    StoredPanels.of(PackedWeights.map(arena, weights)).toArray());
            IllegalArgumentException wrong =
                    assertThrows(IllegalArgumentException.class, () -> PackedWeights.map(arena, tensors));
            assertTrue(wrong.getMessage().startsWith(tensors + ": "), wrong.getMessage());
        }
    }

    @Test
    void sequencesInAnArchiveAreLoaded() throws IOException {
        KeyValueCache.Config config = KeyValueCache.Config.of(1, 2, 8);
        KeyValueCache cache = KeyValueCache.paged(config, 1L << 20);
        int sequence = cache.open();
        cache.append(CPU, 0, sequence, Tokens.gaussian(1, 2, 100, 8, 1), Tokens.gaussian(1, 2, 100, 8, 2));
        Path first = inside.resolve("first");
        CacheSession.save(CPU, cache, first, sequence);
        KeyValueCache other = KeyValueCache.paged(config, 1L << 20);
        Path second = folder.resolve("second");
        CacheSession.save(CPU, other, second, CacheSession.load(CPU, other, first));
        assertArrayEquals(Files.readAllBytes(first), Files.readAllBytes(second));
    }
}

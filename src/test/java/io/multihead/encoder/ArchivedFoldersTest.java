package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Models of every kind are loaded from folders in a jar, with the same results as from other folders. */
class ArchivedFoldersTest {
    private static final Compute CPU = Compute.serial();
    private static final List<String> TEXTS = List.of("ab c", "de f ab");

    @TempDir
    Path folder;

    private FileSystem archive;
    private Path inside;
    private Path plain;

    @BeforeEach
    void open() throws IOException {
        archive = FileSystems.newFileSystem(folder.resolve("model.jar"), Map.of("create", "true"));
        inside = Files.createDirectory(archive.getPath("/model"));
        plain = Files.createDirectory(folder.resolve("model"));
    }

    @AfterEach
    void close() throws IOException {
        archive.close();
    }

    @Test
    void rerankers() throws IOException {
        TinyReranker model = new TinyReranker(1, 1);
        try (Reranker expected = Reranker.load(CPU, model.write(plain));
                Reranker actual = Reranker.load(CPU, model.write(inside))) {
            assertArrayEquals(expected.score("ab", TEXTS), actual.score("ab", TEXTS));
            assertEquals(0, actual.mappedBytes());
        }
    }

    @Test
    void sparseEncoders() throws IOException {
        TinyMasked model = new TinyMasked(1, true);
        try (SparseEncoder expected = SparseEncoder.load(CPU, model.write(plain));
                SparseEncoder actual = SparseEncoder.load(CPU, model.write(inside))) {
            for (String text : TEXTS) {
                assertArrayEquals(expected.embed(text).ids(), actual.embed(text).ids());
                assertArrayEquals(
                        expected.embed(text).weights(), actual.embed(text).weights());
            }
        }
    }

    @Test
    void tokenEncoders() throws IOException {
        TinyTokenModel model = new TinyTokenModel(1);
        try (TokenEncoder expected = TokenEncoder.load(CPU, model.writePyLate(plain));
                TokenEncoder actual = TokenEncoder.load(CPU, model.writePyLate(inside))) {
            assertArrayEquals(
                    expected.embedDocuments(TEXTS).tensor().toArray(),
                    actual.embedDocuments(TEXTS).tensor().toArray());
        }
    }
}

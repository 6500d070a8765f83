package io.multihead.langchain4j;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.decoder.FamilyModel;
import io.multihead.encoder.TinyModel;
import io.multihead.encoder.TinyReranker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The error of each builder names the missing model, or the file that its folder lacks, and the command that downloads
 * it.
 */
class MissingModelTest {
    @TempDir
    Path folder;

    private interface Writer {
        Path write(Path folder) throws IOException;
    }

    private interface Builder {
        AutoCloseable build(Path path);
    }

    private enum Kind {
        EMBEDDING(
                TinyModel::write,
                path -> MultiheadEmbeddingModel.builder().directory(path).build()),
        SCORING(
                folder -> new TinyReranker(1, 1).write(folder),
                path -> MultiheadScoringModel.builder().directory(path).build()),
        TEXT_EMBEDDING(
                MissingModelTest::decoder,
                path -> MultiheadTextEmbeddingModel.builder().path(path).build()),
        TEXT_SCORING(
                MissingModelTest::decoder,
                path -> MultiheadTextScoringModel.builder().path(path).build()),
        CHAT(
                MissingModelTest::decoder,
                path -> MultiheadChatModel.builder().path(path).build());

        private final Writer writer;
        private final Builder builder;

        Kind(Writer writer, Builder builder) {
            this.writer = writer;
            this.builder = builder;
        }

        String missing(Path path) {
            UncheckedIOException refused = assertThrows(UncheckedIOException.class, () -> builder.build(path));
            assertTrue(refused.getCause() instanceof NoSuchFileException, refused.toString());
            return refused.getMessage();
        }
    }

    private static Path decoder(Path folder) throws IOException {
        Files.createDirectory(folder);
        FamilyModel.writePrompts(folder, "{}");
        return folder;
    }

    @ParameterizedTest
    @EnumSource
    void theMessageEndsWithTheCommand(Kind kind) throws IOException {
        Path none = folder.resolve("none");
        String message = kind.missing(none);
        assertTrue(message.contains(none + ": nothing there; expected "), message);
        assertTrue(message.endsWith("; get one by: hf download OWNER/NAME --local-dir " + none), message);
        Path model = kind.writer.write(folder.resolve("model"));
        Files.delete(model.resolve("model.safetensors"));
        message = kind.missing(model);
        assertTrue(message.contains(", no model.safetensors or model.safetensors.index.json; expected "), message);
        assertTrue(message.endsWith("; get one by: hf download OWNER/NAME --local-dir " + model), message);
    }
}

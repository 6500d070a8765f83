package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A path that is no folder is named as it was given, with where it was looked for and what was expected there. */
class MissingFolderTest {
    private static final String EXPECTED =
            "; expected a model's folder, with config.json or modules.json, model.safetensors, and"
                    + " tokenizer.json or vocab.txt";

    @TempDir
    Path folder;

    private interface Loader {
        AutoCloseable load(Compute cpu, Path path) throws IOException;
    }

    private enum Kind {
        SENTENCES("; SentenceEncoder.map reads files that were written", SentenceEncoder::load),
        RERANKER("", Reranker::load),
        SPARSE("", SparseEncoder::load),
        TOKENS("", TokenEncoder::load);

        final String more;
        private final Loader loader;

        Kind(String more, Loader loader) {
            this.more = more;
            this.loader = loader;
        }

        AutoCloseable load(Path path) throws IOException {
            return loader.load(Compute.serial(), path);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aPathThatIsNoFolderIsNamed(Kind kind) throws IOException {
        String expected = EXPECTED + kind.more;
        Path none = folder.resolve("none");
        assertEquals(
                none + ": nothing there" + expected + "; get one by: hf download OWNER/NAME --local-dir " + none,
                assertThrows(NoSuchFileException.class, () -> kind.load(none)).getMessage());
        Path relative = Path.of("no-such-folder", "all-MiniLM-L6-v2");
        assertEquals(
                relative + ": nothing at " + relative.toAbsolutePath() + expected
                        + "; get one by: hf download OWNER/NAME --local-dir " + relative,
                assertThrows(NoSuchFileException.class, () -> kind.load(relative))
                        .getMessage());
        Path file = Files.writeString(folder.resolve("packed"), "no folder");
        assertEquals(
                file + ": a file" + expected,
                assertThrows(IllegalArgumentException.class, () -> kind.load(file))
                        .getMessage());
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aFolderOfOtherFilesIsNamedWithThem(Kind kind) throws IOException {
        String expected = ", no config.json or modules.json" + EXPECTED + kind.more;
        Path other = Files.createDirectory(folder.resolve("other"));
        assertEquals(
                other + ": an empty folder" + expected,
                assertThrows(NoSuchFileException.class, () -> kind.load(other)).getMessage());
        Files.writeString(other.resolve("model.onnx"), "");
        Files.writeString(other.resolve("README.md"), "");
        assertEquals(
                other + ": a folder with README.md, model.onnx" + expected,
                assertThrows(NoSuchFileException.class, () -> kind.load(other)).getMessage());
        for (int i = 10; i < 20; i++) {
            Files.writeString(other.resolve("part" + i), "");
        }
        String message =
                assertThrows(NoSuchFileException.class, () -> kind.load(other)).getMessage();
        assertTrue(message.endsWith(", ..." + expected) && message.split("part").length <= 11, message);
    }
}

package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.load.ModelFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * If a path is not a model folder, the error names the given path, its absolute path and the expected files. If a file in a folder is
 * missing, truncated or of another kind, the error names the file.
 */
class MissingFolderTest {
    private static final String EXPECTED =
            "; expected a model's folder, with config.json or modules.json, model.safetensors, and"
                    + " tokenizer.json or vocab.txt";

    /** Optional files: without one of them the folder is the same model or another one. */
    private static final Set<String> OPTIONAL =
            Set.of("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json");

    private static final String POINTER =
            "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0f".repeat(32) + "\nsize 90868376\n";

    @TempDir
    Path folder;

    private interface Loader {
        AutoCloseable load(Compute cpu, Path path) throws IOException;
    }

    private interface Writer {
        Path write(Path folder) throws IOException;
    }

    private enum Kind {
        SENTENCES(
                ", or a GGUF file; SentenceEncoder.map reads files of SentenceEncoder.write",
                SentenceEncoder::load,
                TinyModel::write),
        RERANKER(
                ", or a GGUF file; Reranker.map reads files of Reranker.write",
                Reranker::load,
                folder -> new TinyReranker(1, 1).write(folder)),
        SPARSE("; SparseEncoder.map reads files of SparseEncoder.write", SparseEncoder::load, folder -> new TinyMasked(
                        1, true)
                .write(folder)),
        TOKENS("; TokenEncoder.map reads files of TokenEncoder.write", TokenEncoder::load, folder -> new TinyTokenModel(
                        1)
                .writePyLate(folder));

        final String more;
        private final Loader loader;
        private final Writer writer;

        Kind(String more, Loader loader, Writer writer) {
            this.more = more;
            this.loader = loader;
            this.writer = writer;
        }

        AutoCloseable load(Path path) throws IOException {
            return loader.load(Compute.serial(), path);
        }

        Path write(Path folder) throws IOException {
            return writer.write(folder);
        }
    }

    private static String command(Path folder) {
        return "; get one by: hf download OWNER/NAME --local-dir " + folder;
    }

    private static String refused(Kind kind, Path path) {
        return assertThrows(IllegalArgumentException.class, () -> kind.load(path))
                .getMessage();
    }

    private static String missing(Kind kind, Path path) {
        return assertThrows(NoSuchFileException.class, () -> kind.load(path)).getMessage();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aPathThatIsNoFolderIsNamed(Kind kind) throws IOException {
        String expected = EXPECTED + kind.more;
        Path none = folder.resolve("none");
        assertEquals(none + ": nothing there" + expected + command(none), missing(kind, none));
        Path relative = Path.of("no-such-folder", "all-MiniLM-L6-v2");
        assertEquals(
                relative + ": nothing at " + relative.toAbsolutePath() + expected + command(relative),
                missing(kind, relative));
        Path file = Files.writeString(folder.resolve("packed"), "no folder");
        assertEquals(file + ": a file" + expected, refused(kind, file));
        Files.writeString(file, POINTER);
        assertTrue(refused(kind, file).startsWith(file + ": a pointer of Git LFS; "), refused(kind, file));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aFolderOfOtherFilesIsNamedWithThem(Kind kind) throws IOException {
        Path other = Files.createDirectory(folder.resolve("other"));
        String expected = ", no config.json or modules.json" + EXPECTED + kind.more + command(other);
        assertEquals(other + ": an empty folder" + expected, missing(kind, other));
        Files.writeString(other.resolve("model.onnx"), "");
        Files.writeString(other.resolve("README.md"), "");
        assertEquals(other + ": a folder with README.md, model.onnx" + expected, missing(kind, other));
        for (int i = 10; i < 20; i++) {
            Files.writeString(other.resolve("part" + i), "");
        }
        String message = missing(kind, other);
        assertTrue(message.endsWith(", ..." + expected) && message.split("part").length <= 11, message);
    }

    /** If a required file is missing, the error names the file, the files next to it, and the command that downloads all files. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void eachFileThatIsMissingIsNamed(Kind kind) throws Exception {
        Path model = kind.write(folder.resolve("model"));
        assertTrue(ModelFolder.files(model).size() >= 3, kind.toString());
        withEach(kind, model, file -> {
            Files.delete(file);
            if (!OPTIONAL.contains(file.getFileName().toString())) {
                String message = missing(kind, model);
                assertTrue(message.startsWith(file.getParent().toString()), message);
                assertTrue(message.contains(file.getFileName().toString()), message);
                assertTrue(message.contains("a folder with ") || message.contains("an empty folder"), message);
                assertTrue(message.endsWith(command(model)), message);
            }
        });
    }

    @FunctionalInterface
    private interface Change {
        void of(Path file) throws Exception;
    }

    /** Changes one file of a model after the other, restores each of them, and loads the model at the end. */
    private static void withEach(Kind kind, Path model, Change change) throws Exception {
        for (Path file : ModelFolder.files(model)) {
            byte[] bytes = Files.readAllBytes(file);
            change.of(file);
            Files.write(file, bytes);
        }
        kind.load(model).close();
    }

    /** Users may clone a model without Git LFS, or save the web page of a file. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void eachFileThatIsNoneOfAModelIsNamed(Kind kind) throws Exception {
        Path model = kind.write(folder.resolve("model"));
        withEach(kind, model, file -> {
            Files.writeString(file, POINTER);
            assertEquals(
                    file
                            + ": a pointer of Git LFS; expected the file itself, 90868376 bytes; get it by: git lfs pull, or hf download",
                    refused(kind, model));
            for (String page :
                    List.of("<!DOCTYPE html>\n<html></html>", "\ufeff\n <html class=\"\">", "<!doctype HTML ")) {
                Files.writeString(file, page);
                String message = refused(kind, model);
                assertTrue(message.startsWith(file + ": a web page (HTML); expected the file itself; "), message);
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void weightsThatAreCutAreNamed(Kind kind) throws Exception {
        Path model = kind.write(folder.resolve("model"));
        Path weights = model.resolve("model.safetensors");
        byte[] bytes = Files.readAllBytes(weights);
        for (int length : new int[] {bytes.length - 1, bytes.length / 2}) {
            Files.write(weights, Arrays.copyOf(bytes, length));
            String message = refused(kind, model);
            assertTrue(message.startsWith(weights + ": "), message);
            assertTrue(message.endsWith("; the file is incomplete, as after an interrupted download"), message);
        }
    }
}

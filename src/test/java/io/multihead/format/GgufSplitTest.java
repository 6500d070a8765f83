package io.multihead.format;

import static io.multihead.faults.Named.mentions;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.ChildJvm;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Models that are split into several GGUF files. */
class GgufSplitTest {
    @TempDir
    Path folder;

    @Test
    void tensorsOfAllFilesAreFound() throws IOException {
        write(0, 3, 4, "a", "b");
        write(1, 3, 4, "c");
        write(2, 3, 4, "q");
        try (Arena arena = Arena.ofConfined()) {
            Gguf model = Gguf.map(arena, path(0, 3));
            assertEquals(List.of("a", "b", "c", "q"), List.copyOf(model.names()));
            assertEquals(97, model.tensor("a").get(0));
            assertEquals(99, model.tensor("c").get(0));
            assertEquals("of a", model.string("from"));
            float[] row = new float[32];
            model.blocks("q").dequantizeRow(0, row, 0);
            assertEquals(113, row[5], 0.5);
        }
    }

    @Test
    void oneFileOfOneIsAFile() throws IOException {
        write(0, 1, 1, "a");
        try (Arena arena = Arena.ofConfined()) {
            assertEquals(97, Gguf.map(arena, path(0, 1)).tensor("a").get(0));
        }
    }

    @Test
    void filesThatDoNotBelongTogetherAreNamed() throws IOException {
        write(0, 2, 2, "a");
        NoSuchFileException missing = assertThrows(NoSuchFileException.class, () -> map(path(0, 2)));
        assertEquals(path(1, 2).toString(), missing.getFile());
        write(1, 2, 2, "b");
        map(path(0, 2));
        mentions(
                () -> map(path(1, 2)),
                path(1, 2) + ": split.no: 1; expected the first of the files, m-00001-of-00002.gguf");
        write(1, 2, 2, "a");
        mentions(
                () -> map(path(0, 2)), path(1, 2) + ": tensor \"a\": in an earlier file too; expected every name once");
        write(1, 2, 2, "b", "c");
        mentions(() -> map(path(0, 2)), path(0, 2) + ": split.tensors.count: 2; expected 3");
        Files.copy(path(0, 2), folder.resolve("n-00001-of-00002.gguf"));
        Files.copy(path(0, 2), folder.resolve("n-00002-of-00002.gguf"));
        Path other = folder.resolve("n-00001-of-00002.gguf");
        mentions(() -> map(other), "n-00002-of-00002.gguf: split.no: 0; expected 1");
        Files.copy(path(0, 2), folder.resolve("renamed.gguf"));
        Files.copy(path(0, 2), folder.resolve("m-00001-of-00003.gguf"));
        for (String name : List.of("renamed.gguf", "m-00001-of-00003.gguf")) {
            mentions(
                    () -> map(folder.resolve(name)),
                    name + ": split.count: 2; expected the number of files in a name such as");
        }
        Files.write(path(1, 2), new byte[3]);
        mentions(() -> map(path(0, 2)), path(1, 2) + ": file: 3 bytes; expected at least the 24");
        Files.write(path(1, 2), GgufBytes.header(0, 0).toArray());
        mentions(() -> map(path(0, 2)), path(1, 2) + ": split.no: not in the file; expected 1");
    }

    @Test
    void countsThatLieAreNamed() throws IOException {
        for (long count : new long[] {0, -1, 100_000}) {
            Path file = folder.resolve("l-00001-of-00000.gguf");
            new GgufWriter()
                    .put("split.count", GgufValue.ofInteger(GgufType.I64, count))
                    .write(file);
            mentions(() -> map(file), "split.count: " + count + "; expected the number of files");
        }
        Path text = folder.resolve("text.gguf");
        new GgufWriter().put("split.count", GgufValue.ofString("2")).write(text);
        mentions(() -> map(text), text + ": split.count: STRING \"2\"; expected an integer");
    }

    /** File names have the digits 0 to 9 in any default locale. */
    @ParameterizedTest
    @ValueSource(strings = {"ar-EG", "fa", "th-TH-u-nu-thai", "de"})
    void filesAreFoundInAnyLanguage(String language) throws IOException, InterruptedException {
        write(0, 3, 3, "a");
        write(1, 3, 3, "b");
        write(2, 3, 3, "c");
        List<String> lines = ChildJvm.run(Maps.class, List.of(), path(0, 3).toString(), language);
        assertTrue(lines.contains("tensors: [a, b, c]"), lines.toString());
    }

    /** Maps a file in a JVM whose default locale has the language of the second argument. */
    public static final class Maps {
        private Maps() {}

        public static void main(String[] arguments) throws IOException {
            Locale.setDefault(Locale.forLanguageTag(arguments[1]));
            try (Arena arena = Arena.ofConfined()) {
                System.out.println(
                        "tensors: " + Gguf.map(arena, Path.of(arguments[0])).names());
            }
        }
    }

    private static void map(Path file) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Gguf.map(arena, file);
        }
    }

    private Path path(int number, int count) {
        return folder.resolve(String.format("m-%05d-of-%05d.gguf", number + 1, count));
    }

    /** Writes a file of a split model. The values of a tensor are the character code of its name, and the tensor q has blocks. */
    private void write(int number, int count, int tensors, String... names) throws IOException {
        GgufWriter writer = new GgufWriter()
                .put("split.no", GgufValue.ofInteger(GgufType.U16, number))
                .put("split.count", GgufValue.ofInteger(GgufType.U16, count))
                .put("split.tensors.count", GgufValue.ofInteger(GgufType.I32, tensors))
                .put("from", GgufValue.ofString("of " + names[0]));
        for (String name : names) {
            Tensor tensor = Tensor.of(new float[32]);
            tensor.fill(name.charAt(0));
            if (name.equals("q")) {
                writer.blocks(name, BlockTensor.quantize(Arena.ofAuto(), tensor, BlockType.Q8_0));
            } else {
                writer.tensor(name, tensor);
            }
        }
        writer.write(path(number, count));
    }
}

package io.multihead.text;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.multihead.format.Gguf;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Published vocabularies in a folder next to the repository. A test is skipped if its vocabulary is missing. */
public final class SharedModels {
    private static final String SEPARATOR = "\n__ggml_vocab_test__\n";

    private SharedModels() {}

    /** A text and its ids, without special tokens. */
    record Example(String text, int[] ids) {}

    /** Returns a file of {@code ../shared/models}, or skips the test. */
    static Path file(String name) {
        Path file = Path.of("..", "shared", "models").resolve(name);
        assumeTrue(Files.exists(file), () -> file.toAbsolutePath().normalize() + " is not there");
        return file;
    }

    /** Returns the tokenizer of a GGUF file. */
    public static Tokenizer tokenizer(String name) {
        return Tokenizers.of(gguf(name));
    }

    /** Maps a GGUF file. */
    static Gguf gguf(String name) {
        try {
            return Gguf.map(Arena.ofAuto(), file(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns llama.cpp's ids of the texts that belong to a vocabulary. */
    static List<Example> examples(String vocabulary) {
        try {
            String[] texts = Files.readString(
                            file("vocab/ggml-vocab-" + vocabulary + ".gguf.inp"), StandardCharsets.UTF_8)
                    .split(SEPARATOR, -1);
            List<String> lines = Files.readAllLines(file("vocab/ggml-vocab-" + vocabulary + ".gguf.out"));
            List<Example> examples = new ArrayList<>();
            for (int i = 0; i < lines.size(); i++) {
                int[] ids = Arrays.stream(lines.get(i).trim().split(" +"))
                        .filter(id -> !id.isEmpty())
                        .mapToInt(Integer::parseInt)
                        .toArray();
                examples.add(new Example(texts[i], ids));
            }
            return examples;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

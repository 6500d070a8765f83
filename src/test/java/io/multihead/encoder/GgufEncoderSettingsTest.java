package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every setting in the table is obeyed or refused, or has no effect, as the table states. */
class GgufEncoderSettingsTest {
    private static final List<String> ARCHITECTURES = List.of("bert", "nomic-bert", "modern-bert");
    /** Values of types that a setting may not have, and values far out of range. */
    private static final List<Object> VALUES =
            List.of("x", true, -1L, 0, 1, 1 << 24, 0.5, -1.5, 1e300, new long[] {1}, List.of("x"));

    @TempDir
    Path folder;

    /** A line in the table for one architecture. */
    private record Line(String architecture, String key, String outcome, Object value) {}

    static Stream<Line> lines() throws IOException {
        byte[] table = GgufEncoderSettingsTest.class
                .getResourceAsStream("/encoder/gguf.txt")
                .readAllBytes();
        return new String(table, StandardCharsets.UTF_8)
                .lines()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .flatMap(line -> {
                    String[] cells =
                            Arrays.stream(line.split("\\|")).map(String::strip).toArray(String[]::new);
                    List<String> architectures = cells[0].equals("all") ? ARCHITECTURES : List.of(cells[0].split(", "));
                    return architectures.stream().map(name -> new Line(name, cells[1], cells[2], value(cells[3])));
                });
    }

    private static Object value(String text) {
        if (text.startsWith("\"")) {
            return text.substring(1, text.length() - 1);
        }
        if (text.equals("true") || text.equals("false")) {
            return Boolean.valueOf(text);
        }
        return text.contains(".") ? (Object) Double.valueOf(text) : Integer.valueOf(text);
    }

    private static TinyGguf model(String architecture) {
        return switch (architecture) {
            case "bert" -> TinyGguf.bert(TinyModel.weights(1));
            case "nomic-bert" -> TinyGguf.nomic(new TinyNomicBert(1, false).weights());
            default -> TinyGguf.modern(TinyModernBert.weights(1, false));
        };
    }

    /** Returns the results and the limits of a model as text. */
    private String run(TinyGguf gguf) throws IOException {
        Path file = gguf.write(folder.resolve("model.gguf"));
        try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), file)) {
            return encoder.maxTokens() + " " + Arrays.toString(encoder.embed("abcd efgh ijkl"));
        }
    }

    @ParameterizedTest
    @MethodSource("lines")
    void aSettingIsAsTheTableSays(Line line) throws IOException {
        TinyGguf changed = model(line.architecture).set(line.key, line.value);
        switch (line.outcome) {
            case "obeyed" -> assertNotEquals(run(model(line.architecture)), run(changed));
            case "none" -> assertEquals(run(model(line.architecture)), run(changed));
            case "tensors" -> assertThrows(IllegalArgumentException.class, () -> run(changed));
            default -> {
                assertEquals("refused", line.outcome);
                String message = assertThrows(IllegalArgumentException.class, () -> run(changed))
                        .getMessage();
                assertTrue(message.contains(line.architecture + "." + line.key), message);
            }
        }
    }

    /** For any value of a key in the table, the model is loaded, or the error names the file and a key or a tensor. */
    @ParameterizedTest
    @ValueSource(strings = {"bert", "nomic-bert", "modern-bert"})
    void valuesOfAnyTypeAreReadOrNamed(String architecture) throws IOException {
        Path file = folder.resolve("model.gguf");
        List<String> keys = lines().filter(line -> line.architecture.equals(architecture))
                .map(line -> line.key)
                .distinct()
                .toList();
        int refused = 0;
        for (String key : keys) {
            for (Object value : VALUES) {
                try {
                    run(model(architecture).set(key, value));
                } catch (IllegalArgumentException named) {
                    refused++;
                    String message = named.getMessage();
                    assertTrue(
                            message.startsWith(file + ": " + architecture + ".")
                                    || message.startsWith(file + ": tensor"),
                            key + " as " + value + ": " + message);
                }
            }
        }
        assertTrue(refused > 100, refused + " of " + keys.size() + " x " + VALUES.size());
    }
}

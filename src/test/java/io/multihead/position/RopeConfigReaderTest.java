package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.base.Json;
import io.multihead.position.Rope.Pairing;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Dictionaries of published models, and every key of the table of docs/positions.md. */
class RopeConfigReaderTest {
    private static final RopeConfigReader READER = RopeConfigReader.of(64, 150_000, 131_072);
    private static final Map<String, String> REQUIRED = Map.of(
            "default", "",
            "linear", ", \"factor\": 8",
            "yarn", "",
            "longrope", ", \"short_factor\": [1], \"long_factor\": [2]",
            "llama3", ", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4",
            "proportional", "");

    private static Map<String, @Nullable Object> json(String text) {
        return Json.object("test", text.getBytes(StandardCharsets.UTF_8));
    }

    private static Rope.Config read(RopeConfigReader reader, String dictionary) {
        return reader.read(json(dictionary), Pairing.HALF_SPLIT).config();
    }

    private static Rope.Config config(int dims, double theta, RopeScaling scaling) {
        return new Rope.Config(dims, theta, Pairing.HALF_SPLIT, scaling);
    }

    @Test
    void withoutADictionaryNothingIsScaled() {
        assertEquals(
                config(64, 150_000, RopeScaling.NONE),
                READER.read(null, Pairing.HALF_SPLIT).config());
        assertEquals(
                new Rope.Config(16, 150_000, Pairing.INTERLEAVED, RopeScaling.NONE),
                READER.withPartialRotaryFactor(0.25)
                        .read(Map.of(), Pairing.INTERLEAVED)
                        .config());
    }

    @Test
    void gptOss() {
        assertEquals(
                config(64, 150_000, RopeScaling.Yarn.of(32, 4096).withTruncate(false)),
                read(
                        READER,
                        "{\"beta_fast\": 32.0, \"beta_slow\": 1.0, \"factor\": 32.0,"
                                + "\"original_max_position_embeddings\": 4096, \"rope_type\": \"yarn\", \"truncate\": false}"));
    }

    /**
     * The dictionary of V3, the dictionary of V2-Lite with 0.707, and an explicit attention factor. The resulting
     * factors differ.
     */
    @Test
    void deepSeek() {
        String dictionary = "{\"beta_fast\": 32, \"beta_slow\": 1, \"factor\": 40, \"mscale\": MSCALE,"
                + "\"mscale_all_dim\": 1.0, \"original_max_position_embeddings\": 4096, \"type\": \"yarn\"}";
        RopeConfigReader reader = RopeConfigReader.of(64, 10_000, 163_840);
        assertEquals(
                config(64, 10_000, new RopeScaling.Yarn(40, 4096, 32, 1, 1)),
                read(reader, dictionary.replace("MSCALE", "1.0")));
        assertEquals(
                0.9210423553163399,
                read(reader, dictionary.replace("MSCALE", "0.707")).scaling().attentionFactor(),
                1e-15);
        // without mscale, or with 0, the factor is inferred, and mscale_all_dim has no effect
        for (String none : new String[] {"null", "0"}) {
            assertEquals(
                    1.3688879454113936,
                    read(reader, dictionary.replace("MSCALE", none)).scaling().attentionFactor(),
                    1e-15);
        }
        String given = dictionary.replace("MSCALE", "0.707, \"attention_factor\": 1.5");
        assertEquals(1.5, read(reader, given).scaling().attentionFactor());
    }

    @Test
    void aMissingFactorIsTheRatioOfTheContexts() {
        assertEquals(
                config(64, 150_000, RopeScaling.Yarn.of(32, 4096)),
                read(READER, "{\"rope_type\": \"yarn\", \"original_max_position_embeddings\": 4096}"));
        assertEquals(
                config(64, 150_000, RopeScaling.Yarn.of(4, 131_072)),
                read(READER, "{\"rope_type\": \"yarn\", \"factor\": 4.0}"));
    }

    @Test
    void llama() {
        assertEquals(
                config(128, 500_000, new RopeScaling.Llama3(8, 1, 4, 8192)),
                read(
                        RopeConfigReader.of(128, 500_000, 131_072),
                        "{\"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0,"
                                + "\"original_max_position_embeddings\": 8192, \"rope_type\": \"llama3\"}"));
    }

    /**
     * Phi-3 does not have the original context in the dictionary. The file of Phi-3.5 uses the old name of the type.
     */
    @Test
    void phi() {
        RopeConfigReader reader = RopeConfigReader.of(8, 10_000, 131_072)
                .withPartialRotaryFactor(0.5)
                .withOriginalMaxPositions(4096);
        for (String type : new String[] {"longrope", "su"}) {
            String text = "{\"long_factor\": [1.5, 3], \"short_factor\": [1, 2.5], \"type\": \"" + type + "\"}";
            RopeScaling.LongRope scaling = RopeScaling.LongRope.of(List.of(1.0, 2.5), List.of(1.5, 3.0), 4096, 131_072);
            assertEquals(config(4, 10_000, scaling), read(reader, text));
            assertEquals(config(4, 10_000, scaling.withContext(4000)), read(reader.withContext(4000), text));
        }
        assertEquals(
                1.25,
                read(
                                reader,
                                "{\"long_factor\": [1.5, 3], \"short_factor\": [1, 2.5], \"rope_type\": \"longrope\","
                                        + "\"attention_factor\": 1.25}")
                        .scaling()
                        .attentionFactor());
    }

    /** The layers of Gemma 3 with the whole context, and the layers of Gemma 4 with dictionaries of transformers 5. */
    @Test
    void gemma() {
        assertEquals(
                config(256, 1e6, new RopeScaling.Linear(8)),
                read(RopeConfigReader.of(256, 1e6, 131_072), "{\"factor\": 8.0, \"rope_type\": \"linear\"}"));
        assertEquals(
                config(512, 1e6, new RopeScaling.Proportional(0.25, 1)),
                read(
                        RopeConfigReader.of(512, 10_000, 131_072),
                        "{\"partial_rotary_factor\": 0.25, \"rope_theta\": 1000000.0, \"rope_type\": \"proportional\"}"));
    }

    @Test
    void qwenHasSections() {
        Rope older = RopeConfigReader.of(128, 1e6, 32_768)
                .read(json("{\"type\": \"mrope\", \"mrope_section\": [16, 24, 24]}"), Pairing.HALF_SPLIT);
        assertEquals(3, older.streams());
        assertTrue(older.toString().endsWith("consecutive[16, 24, 24]"), older.toString());
        Rope newer = RopeConfigReader.of(128, 5e6, 262_144)
                .read(
                        json(
                                "{\"mrope_interleaved\": true, \"mrope_section\": [24, 20, 20], \"rope_type\": \"default\"}"),
                        Pairing.HALF_SPLIT);
        assertTrue(newer.toString().endsWith("interleaved[24, 20, 20]"), newer.toString());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'rope_type': 'dynamic', 'factor': 2 | rope_type: dynamic; its frequencies depend on the current length",
                "'rope_type': 'ntk' | rope_type: ntk; expected default, linear, yarn, longrope, llama3 or proportional",
                "'rope_type': 3 | rope_type: 3; expected a string",
                "'rope_type': 'yarn', 'type': 'linear' | type: linear; expected yarn, as rope_type, or none",
                "'rope_type': 'linear' | factor: not in the dictionary; expected a value",
                "'rope_type': 'linear', 'factor': null | factor: not in the dictionary; expected a value",
                "'rope_type': 'linear', 'factor': '2' | factor: 2; expected a finite number",
                "'rope_type': 'linear', 'factor': 0.5 | factor: 0.5; expected a finite number of at least 1",
                "'rope_type': 'yarn', 'truncate': 0 | truncate: 0; expected true or false",
                "'rope_type': 'yarn', 'beta_slow': 0 | betaSlow: 0.0; expected a finite number above 0",
                "'rope_type': 'yarn', 'finetuned': true | finetuned: true; has no meaning here for rope_type yarn; expected",
                "'factor': 2.0 | factor: 2.0; has no meaning here for rope_type default; expected only rope_theta, ",
                "'rope_theta': 0.5 | theta: 0.5; expected a finite number above 1",
                "'partial_rotary_factor': 1.5 | partial_rotary_factor: 1.5; expected a number above 0 and at most 1",
                "'mrope_section': [16.5] | mrope_section[0]: 16.5; expected a whole number",
                "'mrope_section': [1, 2] | sections: consecutive[1, 2]; expected 32 pairs in all",
                "'mrope_section': 3 | mrope_section: 3; expected a list of numbers",
                "'rope_type': 'yarn', 'original_max_position_embeddings': 40.5 | original_max_position_embeddings: 40.5; exp",
                "'rope_type': 'longrope', 'short_factor': [1], 'long_factor': [true] | long_factor[0]: true; expected a fin",
                "'rope_type': 'longrope', 'short_factor': [1], 'long_factor': [1] | scaling: made for 1 pairs; expected 32,"
            })
    void whatIsNotReadIsNamed(String entries, String message) {
        Map<String, @Nullable Object> dictionary = json("{" + entries.replace('\'', '"') + "}");
        String actual = assertThrows(IllegalArgumentException.class, () -> READER.read(dictionary, Pairing.HALF_SPLIT))
                .getMessage();
        assertTrue(actual.startsWith(message), actual);
    }

    @Test
    void aContextThatContradictsTheOneOutsideIsNamed() {
        Map<String, @Nullable Object> dictionary =
                json("{\"rope_type\": \"yarn\", \"original_max_position_embeddings\": 8192}");
        RopeConfigReader reader = READER.withOriginalMaxPositions(4096);
        assertEquals(
                "original_max_position_embeddings: 8192; expected 4096, as outside the dictionary",
                assertThrows(IllegalArgumentException.class, () -> reader.read(dictionary, Pairing.HALF_SPLIT))
                        .getMessage());
    }

    @Test
    void settingsOutOfRangeAreNamed() {
        startsWith("headDim: 0; ", () -> RopeConfigReader.of(0, 1e4, 1));
        startsWith("theta: NaN; ", () -> RopeConfigReader.of(2, Double.NaN, 1));
        startsWith("maxPositions: 0; ", () -> RopeConfigReader.of(2, 1e4, 0));
        startsWith("partialRotaryFactor: 0.0; ", () -> READER.withPartialRotaryFactor(0));
        startsWith("originalMaxPositions: 0; ", () -> READER.withOriginalMaxPositions(0));
        startsWith("context: 0; ", () -> READER.withContext(0));
        // 15 dims make no pairs
        startsWith("rotaryDims: 15; ", () -> RopeConfigReader.of(20, 1e4, 1)
                .withPartialRotaryFactor(0.75)
                .read(null, Pairing.HALF_SPLIT));
    }

    private static void startsWith(String message, org.junit.jupiter.api.function.Executable call) {
        String actual = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(actual.startsWith(message), actual);
    }

    /** The table has each key with its types, and no other keys. */
    @Test
    void theTableHasEveryKey() throws IOException {
        Map<String, Set<String>> documented = new HashMap<>();
        for (String line : Files.readAllLines(Path.of("docs/positions.md"))) {
            String[] cells = line.split("\\|", -1);
            boolean isKey = cells.length == 5
                    && cells[1].matches(" `[a-z_]+`(, `[a-z_]+`)* ")
                    && (cells[2].equals(" all ")
                            || cells[2].contains("`yarn`")
                            || cells[2].contains("`longrope`")
                            || cells[2].contains("`llama3`"));
            for (String type : REQUIRED.keySet()) {
                if (isKey && (cells[2].equals(" all ") || names(cells[2]).contains(type))) {
                    documented.computeIfAbsent(type, any -> new TreeSet<>()).addAll(names(cells[1]));
                }
            }
        }
        Map<String, Set<String>> read = new HashMap<>();
        REQUIRED.forEach((type, keys) -> {
            Map<String, @Nullable Object> dictionary =
                    json("{\"rope_type\": \"" + type + "\"" + keys + ", \"no_such_key\": 1}");
            String message = assertThrows(
                            IllegalArgumentException.class, () -> READER.read(dictionary, Pairing.HALF_SPLIT))
                    .getMessage();
            String start = "no_such_key: 1; has no meaning here for rope_type " + type + "; expected only ";
            assertTrue(message.startsWith(start), message);
            read.put(
                    type,
                    new TreeSet<>(List.of(message.substring(start.length()).split(", "))));
        });
        assertEquals(read, documented);
    }

    private static Set<String> names(String cell) {
        Set<String> names = new TreeSet<>();
        Matcher quoted = Pattern.compile("`([a-z0-9_]+)`").matcher(cell);
        while (quoted.find()) {
            names.add(quoted.group(1));
        }
        return names;
    }
}

package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.Gguf;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.base.SlabArena;
import io.multihead.internal.load.Loading;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every setting in the table is obeyed or refused, or has no effect, as the table states. */
class SettingsTableTest {
    private static final String TABLE = "/decoder/settings.txt";
    private static final String ALL = "all";
    private static final String STAR = "*";
    private static final List<String> CONFIGS = List.of(
            "llama",
            "mistral",
            "qwen2",
            "qwen3",
            "qwen3_moe",
            "smollm3",
            "phi3",
            "gemma3_text",
            "granite",
            "gpt_oss",
            "qwen3_5_text",
            "qwen3_5_moe_text");
    private static final List<String> GGUFS = List.of(
            "llama",
            "qwen2",
            "qwen3",
            "qwen3moe",
            "smollm3",
            "phi3",
            "gemma3",
            "gpt-oss",
            "granite",
            "granitemoe",
            "qwen35",
            "qwen35moe");
    private static final List<String> WITH_EXPERTS = List.of("qwen3moe", "gpt-oss", "granitemoe", "qwen35moe");
    private static final String MODULES = """
            [{"path": "", "type": "sentence_transformers.models.Transformer"},
             {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
             {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]
            """;
    private static final String FAMILY = "general.architecture";
    private static final List<String> VALUES = List.of(
            "null",
            "true",
            "0",
            "-1",
            "1",
            "16777216",
            "9223372036854775807",
            "0.5",
            "-1.5",
            "1e300",
            "\"x\"",
            "[]",
            "[null]",
            "[1]",
            "[\"x\"]",
            "{}",
            "{\"type\": null}",
            "{\"type\": \"linear\", \"factor\": \"x\"}",
            "{\"rope_type\": \"yarn\", \"factor\": 0}");

    private static final String ADAPTER = "adapter_config";

    @TempDir
    private Path folder;

    /** A line in the table for one family. */
    private record Line(String source, String family, String key, String outcome, String before, String changed) {}

    static Stream<Line> lines() throws IOException {
        byte[] table = SettingsTableTest.class.getResourceAsStream(TABLE).readAllBytes();
        return new String(table, StandardCharsets.UTF_8)
                .lines()
                .filter(line -> !line.isBlank() && !line.startsWith("#"))
                .flatMap(line -> {
                    String[] cells = line.split("\\|", -1);
                    for (int i = 0; i < cells.length; i++) {
                        cells[i] = cells[i].strip();
                    }
                    List<String> families = !cells[1].equals(ALL)
                            ? Arrays.asList(cells[1].split(", "))
                            : cells[0].equals("config") ? CONFIGS : GGUFS;
                    return families.stream()
                            .map(family -> new Line(cells[0], family, cells[2], cells[3], cells[4], cells[5]));
                });
    }

    @ParameterizedTest
    @MethodSource("lines")
    void aSettingIsAsTheTableSays(Line line) throws IOException {
        String before = model(line, List.of(line.before));
        List<String> changed = List.of(line.before, line.changed);
        switch (line.outcome) {
            case "obeyed" -> assertNotEquals(before, model(line, changed));
            case "none", "tensors" -> assertEquals(before, model(line, changed));
            default -> {
                assertEquals("refused", line.outcome);
                String message = assertThrows(IllegalArgumentException.class, () -> model(line, changed))
                        .getMessage();
                assertTrue(message.contains(line.key.replace(STAR, line.family)), message);
            }
        }
    }

    /** For any value of a setting in the table, the model is configured, or the message of the error has the name of a setting. */
    @ParameterizedTest
    @ValueSource(strings = {"config", "gguf"})
    void valuesOfAnyTypeAreReadOrNamed(String source) throws IOException {
        List<Line> settings = lines().filter(line -> line.source.equals(source) && !line.key.equals(FAMILY))
                .map(line -> new Line(source, line.family, setting(line.key), "", "", ""))
                .distinct()
                .toList();
        int refused = 0;
        for (Line line : settings) {
            for (String value : VALUES) {
                if (source.equals("gguf") && (value.contains("null") || value.contains("{") || value.equals("[]"))) {
                    continue;
                }
                try {
                    model(line, List.of("\"" + line.key + "\": " + value));
                } catch (IllegalArgumentException named) {
                    refused++;
                    String place = source.equals("gguf") ? line.family + "." : "config.";
                    String file = source.equals("gguf") ? folder.resolve("model.gguf") + ": " : "";
                    assertTrue(
                            named.getMessage().startsWith(file + place)
                                    || named.getMessage().contains("rope_factors"),
                            line + " " + value + ": " + named.getMessage());
                }
            }
        }
        assertTrue(refused > 1000, refused + " refused");
    }

    /** Returns the setting that contains a key of the table, or the key itself. */
    private static String setting(String key) {
        return key.startsWith(STAR) || key.startsWith("general.") ? key : key.replaceFirst("\\..*", "");
    }

    /** Returns the configuration that results from settings as text. */
    private String model(Line line, List<String> fragments) throws IOException {
        return switch (line.source) {
            case "config" -> config(line, fragments);
            case "gguf" -> gguf(line, fragments);
            default -> folder(line, fragments);
        };
    }

    private static Map<String, Object> merged(String base, List<String> fragments) {
        Map<String, Object> all = new LinkedHashMap<>();
        Stream.concat(Stream.of(base), fragments.stream())
                .forEach(members -> Json.object("table", ("{" + members + "}").getBytes(StandardCharsets.UTF_8))
                        .forEach((name, value) -> all.put(name, value)));
        return all;
    }

    private static String config(Line line, List<String> fragments) {
        boolean gemma = line.family.equals("gemma3_text");
        String base = "\"model_type\": \"" + line.family + "\", \"hidden_size\": 64, \"num_hidden_layers\": 4,"
                + " \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 16,"
                + " \"max_position_embeddings\": 8192, \"rms_norm_eps\": 1e-6"
                + (gemma ? ", \"sliding_window\": 512, \"sliding_window_pattern\": 3" : "")
                + (line.family.equals("gpt_oss") ? ", \"num_local_experts\": 4, \"num_experts_per_tok\": 2" : "");
        JsonSettings settings = new JsonSettings(new JsonObject("config", merged(base, fragments)), 40);
        return ModelSettings.of(Families.of(settings).configure(settings), false);
    }

    private String gguf(Line line, List<String> fragments) throws IOException {
        String base = "\"general.architecture\": \"" + line.family + "\", \"*.embedding_length\": 64,"
                + " \"*.block_count\": 4, \"*.attention.head_count\": 4, \"*.attention.head_count_kv\": 2,"
                + " \"*.attention.key_length\": 16, \"*.attention.value_length\": 16, \"*.context_length\": 128,"
                + " \"*.attention.layer_norm_rms_epsilon\": 1e-6, \"*.rope.dimension_count\": 16,"
                + " \"*.rope.freq_base\": 5e4"
                + (line.family.equals("gemma3")
                        ? ", \"*.attention.sliding_window\": 4, \"*.attention.sliding_window_pattern\": 3"
                        : "")
                + (line.family.equals("gpt-oss") ? ", \"*.attention.sliding_window\": 4" : "")
                + (line.family.startsWith("qwen35") || line.family.equals("granitehybrid")
                        ? ", \"*.ssm.conv_kernel\": 4, \"*.ssm.state_size\": 8, \"*.ssm.group_count\": 2,"
                                + " \"*.ssm.time_step_rank\": 4, \"*.ssm.inner_size\": 32"
                        : "")
                + (WITH_EXPERTS.contains(line.family) ? ", \"*.expert_count\": 4, \"*.expert_used_count\": 2" : "");
        GgufWriter writer = new GgufWriter();
        merged(base, fragments).forEach((key, value) -> writer.put(key.replace(STAR, line.family), value(value)));
        for (int i = 0; i < 5; i++) {
            writer.tensor("t" + i, Tensor.of(new float[1]));
        }
        Path file = folder.resolve("model.gguf");
        writer.write(file);
        try (Arena arena = Arena.ofConfined()) {
            GgufSettings settings = new GgufSettings(Gguf.map(arena, file), file);
            return ModelSettings.of(Families.of(settings).configure(settings), false)
                    + EmbedderSettings.of(Gguf.map(arena, file), line.family);
        }
    }

    private static GgufValue value(Object value) {
        return switch (value) {
            case Long number ->
                GgufValue.ofInteger(number == (int) (long) number ? GgufType.I32 : GgufType.I64, number);
            case Double real -> GgufValue.ofF32(real.floatValue());
            case Boolean flag -> GgufValue.ofBool(flag);
            case String text -> GgufValue.ofString(text);
            case List<?> list
            when list.getFirst() instanceof String ->
                GgufValue.ofStrings(list.stream().map(String.class::cast).toList());
            case List<?> list ->
                GgufValue.ofIntegers(
                        GgufType.I32,
                        list.stream().mapToLong(each -> (Long) each).toArray());
            default -> throw new IllegalStateException(String.valueOf(value));
        };
    }

    private String folder(Line line, List<String> fragments) throws IOException {
        new FamilyFile(Kind.QWEN_3, 5).writeFolder(folder, BytePieces.tokenizerJson());
        Files.createDirectories(folder.resolve("1_Pooling"));
        List<String> files = List.of(
                "generation_config",
                "tokenizer_config",
                "1_Pooling/config",
                "sentence_bert_config",
                "config_sentence_transformers",
                ADAPTER);
        for (String file : files) {
            Map<String, Object> members = merged("", file.equals(line.source) ? fragments : List.of());
            if (!file.equals(ADAPTER) || !members.isEmpty()) {
                Files.writeString(folder.resolve(file + ".json"), JsonWriter.write(file, members));
            }
        }
        boolean others = line.source.equals("modules") && fragments.size() > 1;
        Files.writeString(folder.resolve("modules.json"), others ? fragments.getLast() : MODULES);
        try (Compute cpu = Compute.serial();
                SlabArena arena = new SlabArena()) {
            Loading loading = new Loading(cpu, arena, null, false, null);
            LoadedDecoder model = DecoderLoader.folder(loading, folder, LoadListener.NONE, "a folder");
            int[] tokens = model.tokenizer().withSpecialTokens(model.tokenizer().encode("a <s> b"));
            return model.facts().settings()
                    + model.embedder()
                    + template(model.templates())
                    + model.tokenizer().specialIds()
                    + Arrays.toString(tokens);
        }
    }

    private static String template(FileTemplates templates) {
        try {
            return templates.template().getClass().getName();
        } catch (IllegalArgumentException none) {
            return none.getMessage();
        }
    }
}

package io.multihead.train;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The settings and the tokenizer of a folder with a BERT encoder.
 *
 * @param mostTokens of a text, those around it included
 */
record BertFolder(BertSizes sizes, EncoderTokenizer tokenizer, int mostTokens) {
    private static final int MOST = 1 << 24;
    private static final String LENGTH = "max_seq_length";
    private static final String MEAN = "pooling_mode_mean_tokens";
    /** Settings that would make other numbers, with the values that these layers have. */
    private static final Map<String, Object> EXPECTED = Map.of(
            "model_type", "bert",
            "hidden_act", "gelu",
            "position_embedding_type", "absolute",
            "is_decoder", false,
            "add_cross_attention", false);

    /** Weights in the formats that folders have: a copy has others. */
    private static final Set<String> WEIGHTS =
            Set.of(".safetensors", ".bin", ".h5", ".onnx", ".msgpack", ".ot", ".index.json", ".gguf");

    static BertFolder read(Path folder) throws IOException {
        Checks.folder(folder, "expected a folder that transformers wrote");
        BertSizes sizes = file(folder.resolve("config.json"), "config", BertFolder::sizes);
        if (Files.exists(folder.resolve("modules.json"))) {
            requireMeans(folder);
        }
        int most = sizes.positions();
        Path settings = folder.resolve("sentence_bert_config.json");
        if (Files.exists(settings)) {
            int positions = most;
            most = file(settings, "sentence_bert_config", json -> json.integer(LENGTH, 2, positions, positions));
        }
        EncoderTokenizer tokenizer = Tokenizers.loadEncoder(folder);
        return new BertFolder(sizes, tokenizer, most);
    }

    private interface Reading<T> {
        T read(JsonObject json);
    }

    private static <T> T file(Path file, String name, Reading<T> reading) throws IOException {
        byte[] utf8 = Files.readAllBytes(file);
        return Checks.in(file, () -> reading.read(new JsonObject(name, Json.object(name, utf8))));
    }

    private static BertSizes sizes(JsonObject config) {
        EXPECTED.forEach(config::require);
        if (config.has("quantization_config")) {
            throw config.fail("quantization_config", "none");
        }
        return new BertSizes(
                config.integer("hidden_size", 1, MOST),
                config.integer("num_hidden_layers", 1, 1 << 10),
                config.integer("num_attention_heads", 1, MOST),
                config.integer("intermediate_size", 1, MOST),
                config.integer("vocab_size", 1, MOST),
                config.integer("max_position_embeddings", 2, MOST),
                config.integer("type_vocab_size", 1, MOST, 2),
                config.has("layer_norm_eps") ? config.number("layer_norm_eps") : 1e-12);
    }

    /** Fails unless the modules are a transformer, the mean of tokens, and perhaps a normalisation. */
    private static void requireMeans(Path folder) throws IOException {
        Path modules = folder.resolve("modules.json");
        byte[] utf8 = Files.readAllBytes(modules);
        List<String> types = Checks.in(modules, () -> Json.array("modules", utf8).stream()
                .map(module -> JsonObject.of("modules", module).text("type"))
                .map(type -> type.substring(type.lastIndexOf('.') + 1))
                .toList());
        if (!types.equals(List.of("Transformer", "Pooling"))
                && !types.equals(List.of("Transformer", "Pooling", "Normalize"))) {
            throw Checks.fail(
                    modules.toString(), types.toString(), "expected a Transformer, a Pooling and perhaps a Normalize");
        }
        Path pooling = folder.resolve("1_Pooling").resolve("config.json");
        file(pooling, "pooling", json -> {
            boolean mean = json.has("pooling_mode")
                    ? "mean".equals(json.get("pooling_mode"))
                    : json.flag(MEAN, false)
                            && json.names().stream()
                                    .map(String.class::cast)
                                    .filter(name -> name.startsWith("pooling_mode_") && !name.equals(MEAN))
                                    .noneMatch(name -> json.flag(name, false));
            if (!mean) {
                throw json.fail("pooling_mode", "the mean of tokens alone, which these layers compute");
            }
            return true;
        });
    }

    /** Copies all files but weights, in their folders. */
    static void copy(Path from, Path to) throws IOException {
        if (Files.exists(to) && Files.isSameFile(from, to)) {
            throw Checks.fail("folder", to.toString(), "expected another one than the encoder was loaded from");
        }
        List<Path> files;
        try (Stream<Path> walk = Files.walk(from, 2)) {
            files = walk.filter(Files::isRegularFile)
                    .filter(file -> WEIGHTS.stream()
                            .noneMatch(end -> file.getFileName().toString().endsWith(end)))
                    .toList();
        }
        Files.createDirectories(to);
        for (Path file : files) {
            Path copy = to.resolve(from.relativize(file).toString());
            Files.createDirectories(Checks.notNull(copy.getParent(), "folder"));
            Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
        }
    }
}

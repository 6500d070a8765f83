package io.multihead.train;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.PoolingSettings;
import io.multihead.internal.load.TextLength;
import io.multihead.internal.load.TextModules;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The settings and the tokenizer of a folder with a BERT encoder.
 *
 * @param mostTokens the largest number of tokens of a text, including the tokens around it
 */
record BertFolder(BertSizes sizes, EncoderTokenizer tokenizer, int mostTokens) {
    private static final int MOST = 1 << 24;
    /** Settings that affect results, with the only values that these layers support. */
    private static final Map<String, Object> EXPECTED = Collections.unmodifiableMap(new TreeMap<>(Map.of(
            "model_type", "bert",
            "hidden_act", "gelu",
            "position_embedding_type", "absolute",
            "is_decoder", false,
            "add_cross_attention", false)));

    /** Endings of the names of weight files. They are not copied, since a copy of a folder has its own weights. */
    private static final Set<String> WEIGHTS =
            Set.of(".safetensors", ".bin", ".h5", ".onnx", ".msgpack", ".ot", ".index.json", ".gguf");

    /** The prefixes of the names of a tokenizer's files. */
    private static final List<String> TOKENIZER = List.of("tokenizer", "vocab", "special_tokens_map", "added_tokens");

    static BertFolder read(Path folder) throws IOException {
        Checks.folder(folder, "a folder that transformers wrote");
        BertSizes sizes = ModelFolder.config(folder, BertFolder::sizes);
        boolean modular = ModelFolder.isModular(folder);
        if (modular) {
            requireMeans(folder, TextModules.read(folder).requirePlain(folder).pooling());
        }
        int most = TextLength.of(folder, modular, TextLength.Task.EMBEDDING, sizes.positions());
        EncoderTokenizer tokenizer = Tokenizers.loadEncoder(folder);
        return new BertFolder(sizes, tokenizer, most);
    }

    private static BertSizes sizes(JsonObject config) {
        config.require("model_type", "bert");
        EXPECTED.forEach(config::require); // the map is sorted, so that an error names the same setting in every JVM
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

    private static void requireMeans(Path folder, @Nullable PoolingSettings pooling) {
        if (!new PoolingSettings(List.of(PoolingSettings.MEAN), true).equals(pooling)) {
            throw Checks.fail(
                    folder + ": pooling",
                    String.valueOf(pooling),
                    "expected only the mean of tokens, which these layers compute");
        }
    }

    /** Copies all files except weights, in their folders. */
    static void copy(Path from, Path to) throws IOException {
        copy(from, to, file -> WEIGHTS.stream()
                .noneMatch(end -> String.valueOf(file.getFileName()).endsWith(end)));
    }

    /** Copies only the files of the tokenizer, for a model of another kind. */
    static void copyTokenizer(Path from, Path to) throws IOException {
        copy(
                from,
                to,
                file -> from.equals(file.getParent())
                        && TOKENIZER.stream().anyMatch(begin -> String.valueOf(file.getFileName())
                                .startsWith(begin)));
    }

    private static void copy(Path from, Path to, Predicate<Path> which) throws IOException {
        if (Files.exists(to) && Files.isSameFile(from, to)) {
            throw Checks.fail("folder", to.toString(), "expected another one than the model was loaded from");
        }
        List<Path> files = ModelFolder.files(from).stream().filter(which).toList();
        Files.createDirectories(to);
        for (Path file : files) {
            Path copy = to.resolve(from.relativize(file).toString());
            Files.createDirectories(Checks.notNull(copy.getParent(), "folder"));
            Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
        }
    }
}

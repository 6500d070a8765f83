package io.multihead.internal.load;

import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Stream;

/** The number of tokens of a text that are read, according to the settings of a transformer's folder. */
public final class TextLength {
    private static final int LEAST = 3;

    /** Arguments of the configuration and the tokenizer, by their names in versions 2 to 5. */
    private static final List<String> ARGUMENTS =
            List.of("config_args", "config_kwargs", "tokenizer_args", "processor_kwargs", "processing_kwargs");

    /** Arguments without an effect. sentence-transformers ignores them in files, to avoid running code of a folder. */
    private static final Set<String> HARMLESS = Set.of("trust_remote_code");

    /** The names that the file of the transformer's own settings has had; the first file with members is used. */
    private static final List<String> SETTINGS = Stream.of(
                    "bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
            .map(model -> "sentence_" + model + "_config.json")
            .toList();

    /** The purpose of a transformer's states, with the settings of each. */
    public enum Task {
        /** The vectors of tokens. */
        EMBEDDING("feature-extraction", "token_embeddings", "last_hidden_state"),
        /** The logits of a masked language model. */
        FILL_MASK("fill-mask", "token_embeddings", "logits"),
        /** A number for each label of a text or of a pair. */
        CLASSIFICATION("sequence-classification", "scores", "logits");

        private final String task;
        private final String module;
        private final String method;

        Task(String task, String module, String method) {
            this.task = task;
            this.module = module;
            this.method = method;
        }
    }

    private TextLength() {}

    /** Returns the length that a folder's modules or else its tokenizer sets, or the model's number of positions if that is lower. */
    public static int of(Path transformer, boolean modular, Task task, int positions) throws IOException {
        int tokenizer = ModelFolder.find(
                        transformer.resolve("tokenizer_config.json"), json -> ofTokenizer(json, positions))
                .orElse(positions);
        return modular ? named(transformer, task, positions).orElse(tokenizer) : tokenizer;
    }

    /** Returns the length that the settings of a Transformer module set. */
    public static OptionalInt named(Path transformer, Task task, int positions) throws IOException {
        for (String name : SETTINGS) {
            Path file = transformer.resolve(name);
            if (Files.exists(file)) {
                Settings settings = ModelFolder.read(file, json -> Settings.of(json, task, positions));
                if (settings.exist) {
                    return settings.length;
                }
            }
        }
        return OptionalInt.empty();
    }

    private record Settings(boolean exist, OptionalInt length) {
        static Settings of(JsonObject json, Task task, int positions) {
            if (json.names().isEmpty()) {
                return new Settings(false, OptionalInt.empty());
            }
            requirePlainTexts(json, task);
            return new Settings(
                    true,
                    json.has("max_seq_length")
                            ? OptionalInt.of(json.integer("max_seq_length", LEAST, positions))
                            : OptionalInt.empty());
        }
    }

    /**
     * Fails if settings make the tokens of texts differ from the tokenizer's tokens, or the vectors of tokens differ from the model's last
     * states.
     */
    private static void requirePlainTexts(JsonObject sentence, Task task) {
        sentence.require("do_lower_case", false);
        sentence.require("transformer_task", task.task);
        sentence.require("module_output_name", task.module);
        if (sentence.has("modality_config")) {
            JsonObject text = sentence.object("modality_config").object("text");
            text.require("method", "forward");
            text.require("method_output_name", task.method);
        }
        for (String member : List.of("query_length", "document_length", "query_expansion", "tokenizer_name_or_path")) {
            if (sentence.has(member)) {
                throw sentence.fail(member, "null: all texts are read alike, by the folder's tokenizer");
            }
        }
        for (String member : ARGUMENTS) {
            if (sentence.has(member)
                    && !HARMLESS.containsAll(sentence.object(member).names())) {
                throw sentence.fail(member, "none");
            }
        }
    }

    /** Returns {@code model_max_length}, in which a number of 31 digits means no limit, or the model's positions. */
    private static int ofTokenizer(JsonObject tokenizer, int positions) {
        tokenizer.require("truncation_side", "right");
        tokenizer.require(
                "padding_side",
                "right"); // positions would depend on the other texts of a batch. The older name has an effect
        // only if the newer one is absent, as in transformers
        String member = tokenizer.names().contains("model_max_length") ? "model_max_length" : "max_len";
        if (!tokenizer.has(member) || tokenizer.number(member) >= positions) {
            return positions;
        }
        return tokenizer.integer(member, LEAST, positions);
    }
}

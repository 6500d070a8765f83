package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.PoolingSettings;
import io.multihead.internal.load.TextLength;
import io.multihead.internal.load.TextModules;
import io.multihead.model.Pooling;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The method by which a model's file computes vectors of texts: the modules of sentence-transformers in a folder, {@code pooling_type} in a
 * GGUF file.
 *
 * @param pooling the function from states to a vector; null if the file declares that there is none
 * @param normalized whether vectors have length 1
 * @param mostTokens the largest number of tokens of a text that the folder declares; 0 if it declares none
 * @param prompts the prompts by name
 * @param prompt the prompt that is put before each text unless a program sets another one
 * @param ranks whether the head scores yes and no instead of tokens
 */
record EmbedderSettings(
        @Nullable Pooling pooling,
        boolean normalized,
        int mostTokens,
        Map<String, String> prompts,
        String prompt,
        boolean ranks) {
    /** The settings for files without such settings. The vector is the state of the last token, for which most decoders are trained. */
    static final EmbedderSettings DEFAULT = new EmbedderSettings(Pooling.LAST, true, 0, Map.of(), "", false);

    private static final int MOST = 1 << 24;
    private static final int RANK = 4;
    private static final List<String> ANSWERS = List.of("yes", "no");

    private static final Map<String, Pooling> MODES = Map.of(
            PoolingSettings.CLS, Pooling.CLS, PoolingSettings.MEAN, Pooling.MEAN, PoolingSettings.LAST, Pooling.LAST);

    /** Reads a GGUF file, whose vectors are normalized as in llama.cpp. */
    static EmbedderSettings of(Gguf file, String architecture) {
        String key = architecture + ".pooling_type";
        OptionalLong type = file.findInteger(key);
        if (type.isEmpty()) {
            return DEFAULT;
        }
        if (type.getAsLong() == RANK) {
            String labels = architecture + ".classifier.output_labels";
            if (file.find(labels).isEmpty() || !file.strings(labels).equals(ANSWERS)) {
                String expected = ANSWERS + ", as in Qwen3-Reranker";
                throw file.find(labels).isEmpty()
                        ? file.fail(key, "another one, or classifier.output_labels of " + expected)
                        : file.fail(labels, expected);
            }
            return new EmbedderSettings(null, true, 0, Map.of(), "", true);
        }
        return DEFAULT.with(
                switch (Math.clamp(type.getAsLong(), -1, MOST)) {
                    case 0 -> null;
                    case 1 -> Pooling.MEAN;
                    case 2 -> Pooling.CLS;
                    case 3 -> Pooling.LAST;
                    default -> throw file.fail(key, "0 (none), 1 (mean), 2 (cls), 3 (last) or 4 (rank)");
                });
    }

    EmbedderSettings with(@Nullable Pooling newPooling) {
        return new EmbedderSettings(newPooling, normalized, mostTokens, prompts, prompt, ranks);
    }

    EmbedderSettings withNormalized(boolean newNormalized) {
        return new EmbedderSettings(pooling, newNormalized, mostTokens, prompts, prompt, ranks);
    }

    EmbedderSettings withPrompt(String newPrompt) {
        return new EmbedderSettings(pooling, normalized, mostTokens, prompts, newPrompt, ranks);
    }

    /**
     * Reads the modules of a folder. A folder without modules has the default settings, because sentence-transformers ignores its other
     * files, too.
     */
    static EmbedderSettings of(Path folder) throws IOException {
        if (!ModelFolder.isModular(folder)) {
            return DEFAULT;
        }
        TextModules modules = TextModules.read(folder).requirePlain(folder);
        Pooling pooling = Checks.in(folder, () -> pooling(Checks.notNull(modules.pooling(), "pooling")));
        int tokens = TextLength.named(folder, TextLength.Task.EMBEDDING, MOST).orElse(0);
        return ModelFolder.framework(folder, "SentenceTransformer", framework -> {
            framework.json().require("truncate_dim", null);
            return new EmbedderSettings(
                    pooling, modules.normalized(), tokens, framework.prompts(), framework.prompt(), false);
        });
    }

    private static Pooling pooling(PoolingSettings module) {
        Pooling pooling = module.modes().size() == 1 ? MODES.get(module.modes().getFirst()) : null;
        if (pooling == null) {
            throw Checks.fail(
                    "pooling_mode", module.modes().toString(), "expected cls, mean or lasttoken, for a decoder");
        }
        if (pooling == Pooling.MEAN && !module.includesPrompt()) {
            throw Checks.fail("include_prompt", "false", "expected true, for a decoder");
        }
        return pooling;
    }
}

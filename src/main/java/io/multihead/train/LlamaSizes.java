package io.multihead.train;

import io.multihead.attention.AttentionOptions;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.RopeSettings;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.position.Rope;
import io.multihead.position.RopeConfigReader;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The sizes of a decoder with Llama's architecture, and its settings in {@code config.json}.
 *
 * @param context the largest number of tokens of a text
 * @param tied whether the head is the table of embeddings
 */
record LlamaSizes(
        int vocabulary,
        int dim,
        int inner,
        int layers,
        int heads,
        int keyValueHeads,
        int headDim,
        int context,
        Rope rope,
        double epsilon,
        boolean tied) {
    private static final int MOST = 1 << 24;
    private static final double THETA = 10_000;
    /** Settings that affect results, with the only values that these layers support. */
    private static final Map<String, Object> EXPECTED = Collections.unmodifiableMap(new TreeMap<>(
            Map.of("model_type", "llama", "hidden_act", "silu", "attention_bias", false, "mlp_bias", false)));

    private static final List<String> NONE = List.of("quantization_config", "partial_rotary_factor");

    LlamaSizes {
        if (heads % keyValueHeads != 0) {
            throw Checks.fail("keyValueHeads", String.valueOf(keyValueHeads), "expected a divisor of heads " + heads);
        }
    }

    static void require(int size, int least, int most, String argument) {
        if (size < least || size > most) {
            throw Checks.fail(argument, String.valueOf(size), "expected " + least + " to " + most);
        }
    }

    static Rope rope(int headDim, double theta) {
        return Rope.of(Rope.Config.of(headDim).withTheta(theta));
    }

    static LlamaSizes read(JsonObject config) {
        config.text("model_type");
        config.require("model_type", "llama");
        EXPECTED.forEach(config::require); // the map is sorted, so that an error names the same setting in every JVM
        for (String setting : NONE) {
            if (config.has(setting)) {
                throw config.fail(setting, "none");
            }
        }
        int dim = config.integer("hidden_size", 1, MOST);
        int heads = config.integer("num_attention_heads", 1, MOST);
        int headDim = config.integer("head_dim", 2, MOST, Math.max(2, dim / heads));
        int context = config.integer("max_position_embeddings", 1, Integer.MAX_VALUE);
        return new LlamaSizes(
                config.integer("vocab_size", 1, MOST),
                dim,
                config.integer("intermediate_size", 1, MOST),
                config.integer("num_hidden_layers", 1, 1 << 10),
                heads,
                config.integer("num_key_value_heads", 1, MOST, heads),
                headDim,
                context,
                rope(config, headDim, context),
                config.number("rms_norm_eps"),
                config.flag("tie_word_embeddings", false));
    }

    private static Rope rope(JsonObject config, int headDim, int context) {
        JsonObject dictionary = RopeSettings.dictionary(config);
        double theta = config.has("rope_theta") ? config.number("rope_theta") : THETA;
        return RopeConfigReader.of(headDim, theta, context)
                .read(dictionary == null ? null : dictionary.members(), Rope.Pairing.HALF_SPLIT);
    }

    /** Returns the {@code config.json} of a model that was not read from a file; its rope is not scaled. */
    Map<String, Object> settings() {
        Map<String, Object> settings = new LinkedHashMap<>(EXPECTED);
        settings.put("architectures", List.of("LlamaForCausalLM"));
        settings.put("vocab_size", vocabulary);
        settings.put("hidden_size", dim);
        settings.put("intermediate_size", inner);
        settings.put("num_hidden_layers", layers);
        settings.put("num_attention_heads", heads);
        settings.put("num_key_value_heads", keyValueHeads);
        settings.put("head_dim", headDim);
        settings.put("max_position_embeddings", context);
        settings.put("rope_theta", rope.config().theta());
        settings.put("rms_norm_eps", epsilon);
        settings.put("tie_word_embeddings", tied);
        return settings;
    }

    int queries() {
        return heads * headDim;
    }

    int keys() {
        return keyValueHeads * headDim;
    }

    TransformerBlock.Config block() {
        MultiHeadConfig attention = MultiHeadConfig.of(dim, heads, headDim)
                .withKeyValueHeads(keyValueHeads)
                .withBias(false)
                .withRope(rope)
                .withOptions(AttentionOptions.CAUSAL);
        return new TransformerBlock.Config(
                attention, inner, Activation.SILU, new TransformerBlock.Layers(true, true, true), 0, epsilon);
    }

    /** Returns the same sizes with other settings for new models. */
    LlamaSizes with(int newInner, int newKeyValueHeads, int newContext, Rope newRope, boolean newTied) {
        return new LlamaSizes(
                vocabulary,
                dim,
                newInner,
                layers,
                heads,
                newKeyValueHeads,
                headDim,
                newContext,
                newRope,
                epsilon,
                newTied);
    }
}

package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The sizes of a BERT encoder.
 *
 * @param dim elements of a token's vector
 * @param layers number of blocks
 * @param heads attention heads of a block
 * @param inner elements between the two products of a feed-forward layer
 * @param vocabulary rows of the table of words
 * @param firstPosition the row of the first token's position: 0 for BERT; RoBERTa's rows begin with those of padding
 * @param positions rows from there on: the most tokens of one sequence
 * @param types rows of the table of token types
 * @param epsilon added to variances
 */
record BertConfig(
        int dim,
        int layers,
        int heads,
        int inner,
        int vocabulary,
        int firstPosition,
        int positions,
        int types,
        double epsilon) {
    /** Tokens of a batch: enough for the products, and few enough that its activations stay in the cache. */
    static final int BATCH_TOKENS = 512;

    private static final int MOST = 1 << 24;
    /** What transformers takes for sizes that a {@code config.json} does not name: those of BERT base. */
    private static final BertConfig DEFAULT = new BertConfig(768, 12, 12, 3072, 30522, 512, 2, 1e-12);

    /** {@code [CLS]}, one token and {@code [SEP]}. */
    private static final int LEAST_POSITIONS = 3;

    private static final String BERT = "bert";
    /** Rows of words where {@code config.json} of a type does not say. */
    private static final Map<String, Integer> VOCABULARIES =
            Map.of(BERT, DEFAULT.vocabulary, "roberta", 50265, "xlm-roberta", DEFAULT.vocabulary);

    BertConfig {
        Checks.atLeast(dim, 1, "hidden_size");
        Checks.atLeast(layers, 1, "num_hidden_layers");
        Checks.atLeast(heads, 1, "num_attention_heads");
        Checks.atLeast(inner, 1, "intermediate_size");
        Checks.atLeast(vocabulary, 1, "vocab_size");
        Checks.atLeast(firstPosition, 0, "pad_token_id");
        Checks.atLeast(positions, 1, "max_position_embeddings");
        Checks.atLeast(types, 1, "type_vocab_size");
        Checks.finiteAtLeast(epsilon, 0, "layer_norm_eps");
        if (dim % heads != 0) {
            throw Checks.fail("hidden_size", String.valueOf(dim), "expected a multiple of " + heads + " heads");
        }
        // the rows of a batch are in one array; padding adds less than 32 elements to query, key, value, output or the
        // inner ones
        long wide = Math.max(4 * (dim + 31L), inner + 31L);
        if (wide * Math.max(positions, BATCH_TOKENS) > Checks.MAX_ARRAY_LENGTH) {
            throw Checks.fail(
                    "max_position_embeddings",
                    positions + ", with hidden_size " + dim + " and intermediate_size " + inner,
                    "expected batches of " + Math.max(positions, BATCH_TOKENS) + " tokens to fit arrays");
        }
    }

    /** Reads {@code config.json}, with the defaults of transformers; whatever would change the numbers and is not implemented is an error that names it. */
    static BertConfig of(JsonObject config) {
        String type = config.text("model_type");
        Integer vocabulary = VOCABULARIES.get(type);
        if (vocabulary == null) {
            throw config.fail("model_type", "bert, roberta or xlm-roberta");
        }
        // the padding's own row, those before it, and then a row for each token (transformers'
        // create_position_ids_from_input_ids)
        int first = type.equals(BERT) ? 0 : 1 + config.integer("pad_token_id", 0, MOST, 1);
        config.require("hidden_act", "gelu");
        config.require("position_embedding_type", "absolute");
        config.require("is_decoder", false);
        config.require("add_cross_attention", false);
        if (config.has("quantization_config")) {
            throw config.fail("quantization_config", "none");
        }
        if (config.has("pruned_heads") && !config.object("pruned_heads").names().isEmpty()) {
            throw config.fail("pruned_heads", "none");
        }
        return new BertConfig(
                config.integer("hidden_size", 1, MOST, DEFAULT.dim),
                config.integer("num_hidden_layers", 1, MOST, DEFAULT.layers),
                config.integer("num_attention_heads", 1, MOST, DEFAULT.heads),
                config.integer("intermediate_size", 1, MOST, DEFAULT.inner),
                config.integer("vocab_size", 1, MOST, vocabulary),
                first,
                config.integer("max_position_embeddings", LEAST_POSITIONS + first, MOST, DEFAULT.positions) - first,
                config.integer("type_vocab_size", 1, MOST, DEFAULT.types),
                config.has("layer_norm_eps") ? config.number("layer_norm_eps") : DEFAULT.epsilon);
    }

    /** The sizes of a model of BERT itself. */
    BertConfig(int dim, int layers, int heads, int inner, int vocabulary, int positions, int types, double epsilon) {
        this(dim, layers, heads, inner, vocabulary, 0, positions, types, epsilon);
    }

    /** Returns whether the model is RoBERTa or XLM-R (Liu et al. 2019; Conneau et al. 2020), which differ in positions and heads. */
    boolean isRoberta() {
        return firstPosition > 0;
    }

    /** Returns what {@link #of} reads. */
    Map<String, Object> toJson() {
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("model_type", isRoberta() ? "roberta" : BERT);
        if (isRoberta()) {
            config.put("pad_token_id", firstPosition - 1);
        }
        config.put("hidden_act", "gelu");
        config.put("position_embedding_type", "absolute");
        config.put("hidden_size", dim);
        config.put("num_hidden_layers", layers);
        config.put("num_attention_heads", heads);
        config.put("intermediate_size", inner);
        config.put("vocab_size", vocabulary);
        config.put("max_position_embeddings", firstPosition + positions);
        config.put("type_vocab_size", types);
        config.put("layer_norm_eps", epsilon);
        return config;
    }
}

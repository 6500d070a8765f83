package io.multihead.internal.encoder.family;

import static io.multihead.internal.encoder.family.EncoderLimits.LEAST_POSITIONS;
import static io.multihead.internal.encoder.family.EncoderLimits.MOST;

import io.multihead.attention.AttentionOptions;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.EncoderLimits.Named;
import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.load.Weights;
import io.multihead.model.Block;
import io.multihead.model.EmbeddingTables;
import io.multihead.model.FeedForward;
import io.multihead.model.LinearGroup;
import io.multihead.model.Norm;
import io.multihead.model.SelfAttention;
import io.multihead.model.Transformer;
import io.multihead.tensor.Shape;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A BERT encoder (Devlin et al. 2019). The sum of word, type and position embeddings is normalized. It passes through blocks of self-attention
 * and a feed-forward layer with the erf form of GELU; the result of each is added to its input, and the sum is normalized (Vaswani et al.
 * 2017). RoBERTa and XLM-R differ in the row of the first position, and in the names of the head.
 *
 * @param dim elements of a token's vector
 * @param layers number of blocks
 * @param heads attention heads of a block
 * @param inner elements between the two products of a feed-forward layer
 * @param vocabulary rows of the word embedding table
 * @param firstPosition the row of the first token's position: 0 for BERT; RoBERTa's rows begin with the rows of padding
 * @param positions the number of rows from the first position on, which is the largest number of tokens of one sequence
 * @param types rows of the table of token types
 * @param epsilon added to variances
 */
public record BertConfig(
        int dim,
        int layers,
        int heads,
        int inner,
        int vocabulary,
        int firstPosition,
        int positions,
        int types,
        double epsilon)
        implements EncoderConfig {
    /** Defaults of transformers for sizes that {@code config.json} omits: the sizes of BERT base. */
    private static final BertConfig DEFAULT = new BertConfig(768, 12, 12, 3072, 30522, 512, 2, 1e-12);

    private static final String BERT = "bert";
    /** The default number of rows of the word embedding table, by the model type. */
    private static final Map<String, Integer> VOCABULARIES =
            Map.of(BERT, DEFAULT.vocabulary, "roberta", 50265, "xlm-roberta", DEFAULT.vocabulary);

    /** The values of {@code model_type} of this family. */
    public static final List<String> TYPES = List.of(BERT, "roberta", "xlm-roberta");

    public static final String WORDS = "embeddings.word_embeddings";
    public static final String POSITIONS = "embeddings.position_embeddings";
    public static final String TOKEN_TYPES = "embeddings.token_type_embeddings";
    private static final String EMBEDDING_NORM = "embeddings.LayerNorm";

    /** The prefixes of the whole encoder in a checkpoint. */
    private static final List<String> PREFIXES = List.of("", "bert.", "roberta.", "model.");

    private static final List<String> PARTS = List.of("embeddings.", "encoder.", "pooler.");
    private static final String CLASSIFIER = "classifier.";
    /** Prefixes of the weights of heads in transformers' BERT models. */
    private static final List<String> HEADS = List.of("cls.", "lm_head.", CLASSIFIER, "qa_outputs.");
    /** The name of the stored position ids. */
    private static final String POSITION_IDS = "embeddings.position_ids";
    /** The first layer of BERT's head, which has no effect on vectors of texts. */
    private static final String POOLER = "pooler.dense";

    public BertConfig {
        Checks.atLeast(dim, 1, "hidden_size");
        Checks.atLeast(layers, 1, "num_hidden_layers");
        Checks.atLeast(heads, 1, "num_attention_heads");
        Checks.atLeast(inner, 1, "intermediate_size");
        Checks.atLeast(vocabulary, 1, "vocab_size");
        Checks.atLeast(firstPosition, 0, "pad_token_id");
        Checks.atLeast(positions, 1, "max_position_embeddings");
        Checks.atLeast(types, 1, "type_vocab_size");
        Checks.finiteAtLeast(epsilon, 0, "layer_norm_eps");
        Named dims = new Named("hidden_size", dim);
        EncoderLimits.requireHeads(dims, heads);
        EncoderLimits.requireBatch(
                new Named("max_position_embeddings", positions), dims, new Named("intermediate_size", inner), 1);
    }

    /**
     * Reads {@code config.json}, with the defaults of transformers; a setting that would change results and is not implemented is an error
     * that names it.
     */
    public static BertConfig of(JsonObject config) {
        String type = config.text("model_type");
        Integer vocabulary = VOCABULARIES.get(type);
        if (vocabulary == null) {
            throw config.fail("model_type", "bert, roberta or xlm-roberta");
        }
        // the rows up to the row of padding precede the rows of tokens, as in transformers'
        // create_position_ids_from_input_ids
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

    /** Creates the configuration of a BERT model. */
    public BertConfig(
            int dim, int layers, int heads, int inner, int vocabulary, int positions, int types, double epsilon) {
        this(dim, layers, heads, inner, vocabulary, 0, positions, types, epsilon);
    }

    /** Returns whether the model is RoBERTa or XLM-R (Liu et al. 2019; Conneau et al. 2020), which differ in positions and heads. */
    boolean isRoberta() {
        return firstPosition > 0;
    }

    @Override
    public int pairTypes() {
        return isRoberta() ? 1 : 2;
    }

    @Override
    public EncoderNames names(boolean classifies) {
        boolean pools = classifies && !isRoberta();
        Stream<String> ignored = Stream.of(POSITION_IDS, POOLER + ".weight", POOLER + ".bias");
        return new EncoderNames(
                WORDS + ".weight",
                PREFIXES,
                PARTS,
                classifies ? List.of(CLASSIFIER) : List.of(),
                HEADS,
                pools ? Set.of(POSITION_IDS) : Set.copyOf(ignored.toList()));
    }

    @Override
    public Transformer model(Weights weights) {
        int rows = firstPosition + positions;
        EmbeddingTables tables = weights.words(WORDS + ".weight", Shape.of(vocabulary, dim))
                .withPositions(weights.table(POSITIONS + ".weight", rows, dim).slice(0, firstPosition, rows))
                .withTypes(weights.table(TOKEN_TYPES + ".weight", types, dim))
                .withNorm(norm(weights, EMBEDDING_NORM));
        List<Block> blocks = new ArrayList<>();
        for (int layer = 0; layer < layers; layer++) {
            blocks.add(block(weights, "encoder.layer." + layer + "."));
        }
        return Transformer.of(tables, blocks);
    }

    private Norm norm(Weights weights, String name) {
        return EncoderConfig.norm(weights, name, dim, epsilon, true);
    }

    /** Builds a block with post-norm, in which every token sees every token. */
    private Block block(Weights weights, String layer) {
        String self = layer + "attention.self.";
        LinearGroup projections = weights.group(
                layer + "attention.projections", List.of(self + "query", self + "key", self + "value"), dim, dim, true);
        SelfAttention attention = SelfAttention.of(
                heads,
                heads,
                projections,
                weights.linear(layer + "attention.output.dense", dim, dim, true),
                AttentionOptions.DEFAULT);
        Norm attentionNorm = norm(weights, layer + "attention.output.LayerNorm");
        FeedForward feedForward = FeedForward.of(
                weights.linear(layer + "intermediate.dense", inner, dim, true).withActivation(Activation.GELU),
                weights.linear(layer + "output.dense", dim, inner, true));
        return Block.postNorm(attention, attentionNorm, feedForward, norm(weights, layer + "output.LayerNorm"));
    }

    @Override
    public ClassificationHead head(Weights weights, int labels) {
        String dense = isRoberta() ? CLASSIFIER + "dense" : POOLER;
        String output = isRoberta() ? CLASSIFIER + "out_proj" : "classifier";
        float[] weight = weights.numbers(output + ".weight", labels, dim).toArray();
        float[] bias = weights.numbers(output + ".bias", labels).toArray();
        return ClassificationHead.tanh(weights.linear(dense, dim, dim, true), weight, bias);
    }

    /** Returns the configuration that {@link #of} reads. */
    @Override
    public Map<String, Object> toJson() {
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

package io.multihead.internal.encoder.family;

import static io.multihead.internal.encoder.family.EncoderLimits.LEAST_POSITIONS;
import static io.multihead.internal.encoder.family.EncoderLimits.MOST;

import io.multihead.attention.AttentionOptions;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.load.Weights;
import io.multihead.model.Block;
import io.multihead.model.EmbeddingTables;
import io.multihead.model.FeedForward;
import io.multihead.model.LinearGroup;
import io.multihead.model.Norm;
import io.multihead.model.SelfAttention;
import io.multihead.model.Transformer;
import io.multihead.position.Rope;
import io.multihead.tensor.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Nomic's BERT (Nussbaum et al. 2024), with the names of the code that was published with its weights. The sum of word and type embeddings is
 * normalized. It passes through blocks of self-attention with rotated queries and keys, and a feed-forward layer with a gate; the result of
 * each is added to its input, and the sum is normalized.
 *
 * @param sizes the sizes of the model
 * @param types rows of the table of token types
 * @param epsilon added to variances
 * @param rope base of the rotation, and whether neighbors form a pair
 * @param gate the function of the gate
 * @param biases the layers with biases
 */
public record NomicBertConfig(Sizes sizes, int types, double epsilon, Rotation rope, Activation gate, Biases biases)
        implements RotaryEncoderConfig {
    static final String TYPE = "nomic_bert";

    private static final String WORDS = "embeddings.word_embeddings";
    private static final String CLASSIFIER = "classifier.";
    private static final String POOLER = "pooler.dense";
    private static final String GATE = "activation_function";
    /** The model's code rounds the elements of a gated layer up to a multiple of this number. */
    private static final int INNER_MULTIPLE = 256;

    private static final Map<String, Activation> GATES = Map.of("swiglu", Activation.SILU, "geglu", Activation.GELU);

    /** Settings that the code allows and the published models do not use, with the values of these models. */
    private static final Map<String, Object> FIXED = Collections.unmodifiableMap(new TreeMap<>(Map.of(
            "prenorm", false,
            "parallel_block", false,
            "parallel_block_tied_norm", false,
            "use_rms_norm", false,
            "causal", false,
            "rotary_head_dim", false,
            "is_decoder", false,
            "add_cross_attention", false)));

    /** Members that must be absent: scaled rotations, grouped heads, experts, and weights that are not floating-point. */
    private static final List<String> ABSENT = List.of(
            "rotary_scaling_factor",
            "rotary_emb_scale_base",
            "num_heads_kv",
            "num_experts",
            "moe_every_n_layers",
            "rope_parameters",
            "quantization_config");

    /** The rotation of queries and keys. */
    public record Rotation(double theta, boolean interleaved) {
        private static Rotation of(JsonObject config) {
            if (!config.has("rotary_emb_fraction") || config.number("rotary_emb_fraction") != 1) {
                throw config.fail("rotary_emb_fraction", "1.0");
            }
            double theta = config.has("rotary_emb_base") ? config.number("rotary_emb_base") : 10_000;
            if (!(theta > 1 && theta <= Float.MAX_VALUE)) {
                throw config.fail("rotary_emb_base", "a number above 1");
            }
            return new Rotation(theta, config.flag("rotary_emb_interleaved", false));
        }

        private Rope of(int headDim) {
            return Rope.of(Rope.Config.of(headDim)
                    .withTheta(theta)
                    .withPairing(interleaved ? Rope.Pairing.INTERLEAVED : Rope.Pairing.HALF_SPLIT));
        }
    }

    /** The layers with biases, apart from norms. */
    public record Biases(boolean attention, boolean up, boolean down) {
        private static Biases of(JsonObject config) {
            return new Biases(
                    config.flag("qkv_proj_bias", true),
                    config.flag("mlp_fc1_bias", true),
                    config.flag("mlp_fc2_bias", true));
        }
    }

    private static Sizes sizes(JsonObject config) {
        int words = config.integer("vocab_size", 1, MOST);
        int multiple = config.integer("pad_vocab_size_multiple", 1, MOST, 1);
        Sizes sizes = new Sizes(
                config.integer("n_embd", 1, MOST),
                config.integer("n_layer", 1, MOST),
                config.integer("n_head", 1, MOST),
                roundUp(config.integer("n_inner", 1, MOST), INNER_MULTIPLE),
                roundUp(words, multiple),
                config.integer("n_positions", LEAST_POSITIONS, MOST));
        return sizes.checked("n_embd", "n_inner", "n_positions");
    }

    private static int roundUp(int size, int multiple) {
        return Math.ceilDiv(size, multiple) * multiple;
    }

    /** Reads {@code config.json}, with the defaults of the published code. */
    static NomicBertConfig of(JsonObject config) {
        FIXED.forEach(config::require); // sorted: an error names the same setting in every JVM
        ABSENT.forEach(member -> config.require(member, null));
        String gate = config.text(GATE);
        if (!GATES.containsKey(gate)) {
            throw config.fail(GATE, "swiglu or geglu");
        }
        return new NomicBertConfig(
                sizes(config),
                config.integer("type_vocab_size", 1, MOST, 2),
                config.has("layer_norm_epsilon") ? config.number("layer_norm_epsilon") : 1e-5,
                Rotation.of(config),
                GATES.get(gate),
                Biases.of(config));
    }

    @Override
    public int pairTypes() {
        return 2;
    }

    @Override
    public EncoderNames names(boolean classifies) {
        return new EncoderNames(
                WORDS + ".weight",
                List.of("", "bert."),
                List.of("embeddings.", "emb_ln.", "encoder.", "pooler."),
                classifies ? List.of(CLASSIFIER) : List.of(),
                List.of("cls.", CLASSIFIER),
                classifies ? Set.of() : Set.of(POOLER + ".weight", POOLER + ".bias"));
    }

    @Override
    public Transformer model(Weights weights) {
        EmbeddingTables tables = weights.words(WORDS + ".weight", Shape.of(sizes.vocabulary(), sizes.dim()))
                .withTypes(weights.table("embeddings.token_type_embeddings.weight", types, sizes.dim()))
                .withNorm(norm(weights, "emb_ln"));
        Rope rotation = rope.of(sizes.dim() / sizes.heads());
        List<Block> blocks = new ArrayList<>();
        for (int layer = 0; layer < sizes.layers(); layer++) {
            blocks.add(block(weights, "encoder.layers." + layer + ".", rotation));
        }
        return Transformer.of(tables, blocks);
    }

    private Block block(Weights weights, String name, Rope rotation) {
        int dim = sizes.dim();
        LinearGroup projections = LinearGroup.concatenated(
                weights.linear(name + "attn.Wqkv", 3 * dim, dim, biases.attention), dim, dim, dim);
        SelfAttention attention = SelfAttention.of(
                        sizes.heads(),
                        sizes.heads(),
                        projections,
                        weights.linear(name + "attn.out_proj", dim, dim, biases.attention),
                        AttentionOptions.DEFAULT)
                .withRope(rotation);
        Norm attentionNorm = norm(weights, name + "norm1");
        // the gate is the second of the two layers
        LinearGroup gateAndUp = weights.group(
                name + "mlp.gate_and_up", List.of(name + "mlp.fc12", name + "mlp.fc11"), sizes.inner(), dim, biases.up);
        FeedForward feedForward =
                FeedForward.gated(gate, gateAndUp, weights.linear(name + "mlp.fc2", dim, sizes.inner(), biases.down));
        return Block.postNorm(attention, attentionNorm, feedForward, norm(weights, name + "norm2"));
    }

    private Norm norm(Weights weights, String name) {
        return EncoderConfig.norm(weights, name, sizes.dim(), epsilon, true);
    }

    @Override
    public ClassificationHead head(Weights weights, int labels) {
        float[] weight =
                weights.numbers(CLASSIFIER + "weight", labels, sizes.dim()).toArray();
        float[] bias = weights.numbers(CLASSIFIER + "bias", labels).toArray();
        return ClassificationHead.tanh(weights.linear(POOLER, sizes.dim(), sizes.dim(), true), weight, bias);
    }

    @Override
    public Map<String, Object> toJson() {
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("model_type", TYPE);
        config.put("n_embd", sizes.dim());
        config.put("n_layer", sizes.layers());
        config.put("n_head", sizes.heads());
        config.put("n_inner", sizes.inner());
        config.put("vocab_size", sizes.vocabulary());
        config.put("n_positions", sizes.positions());
        config.put("type_vocab_size", types);
        config.put("layer_norm_epsilon", epsilon);
        config.put(GATE, gate == Activation.SILU ? "swiglu" : "geglu");
        config.put("rotary_emb_fraction", 1.0);
        config.put("rotary_emb_base", rope.theta);
        config.put("rotary_emb_interleaved", rope.interleaved);
        config.put("qkv_proj_bias", biases.attention);
        config.put("mlp_fc1_bias", biases.up);
        config.put("mlp_fc2_bias", biases.down);
        return config;
    }
}

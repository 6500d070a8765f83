package io.multihead.internal.encoder.family;

import static io.multihead.internal.encoder.family.EncoderLimits.LEAST_POSITIONS;
import static io.multihead.internal.encoder.family.EncoderLimits.MOST;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * ModernBERT (Warner et al. 2024). Word embeddings are normalized, and pass through blocks of self-attention and a feed-forward layer with a
 * GELU gate. Both read normalized states, except that the first block's attention reads the embeddings directly. The last states are
 * normalized. Queries and keys are rotated. Most layers are local: a token sees only tokens near it, and the rotation has another base.
 *
 * @param sizes the sizes of the model
 * @param epsilon added to variances
 * @param local whether each layer is local
 * @param reach the number of tokens on each side that a token sees in a local layer
 * @param globalTheta base of the rotation in layers that are not local
 * @param localTheta base of the rotation in local layers
 * @param biases the layers with biases
 * @param classifiesMean whether the head reads the mean of a sequence's states instead of the first state
 */
public record ModernBertConfig(
        Sizes sizes,
        double epsilon,
        List<Boolean> local,
        int reach,
        double globalTheta,
        double localTheta,
        Biases biases,
        boolean classifiesMean)
        implements RotaryEncoderConfig {
    static final String TYPE = "modernbert";

    private static final String GLOBAL = "full_attention";
    private static final String LOCAL = "sliding_attention";
    private static final String EVERY = "global_attn_every_n_layers";
    private static final String LAYER_TYPES = "layer_types";
    private static final String ROPES = "rope_parameters";
    private static final String POOLING = "classifier_pooling";

    private static final String WORDS = "embeddings.tok_embeddings";
    private static final String HEAD = "head.";
    private static final String CLASSIFIER = "classifier.";

    /** The sizes of ModernBERT base, which transformers uses if a file omits them. */
    private static final Sizes DEFAULT = new Sizes(768, 22, 12, 1152, 50368, 8192);

    /** The layers with biases. In the models of the paper, only the last layer of the head has biases. */
    public record Biases(boolean attention, boolean norm, boolean feedForward, boolean head) {
        private static Biases of(JsonObject config) {
            return new Biases(
                    config.flag("attention_bias", false),
                    config.flag("norm_bias", false),
                    config.flag("mlp_bias", false),
                    config.flag("classifier_bias", false));
        }
    }

    private static Sizes sizes(JsonObject config) {
        Sizes sizes = new Sizes(
                config.integer("hidden_size", 1, MOST, DEFAULT.dim()),
                config.integer("num_hidden_layers", 1, MOST, DEFAULT.layers()),
                config.integer("num_attention_heads", 1, MOST, DEFAULT.heads()),
                config.integer("intermediate_size", 1, MOST, DEFAULT.inner()),
                config.integer("vocab_size", 1, MOST, DEFAULT.vocabulary()),
                config.integer("max_position_embeddings", LEAST_POSITIONS, MOST, DEFAULT.positions()));
        return sizes.checked("hidden_size", "intermediate_size", "max_position_embeddings");
    }

    /** Reads {@code config.json}, with the defaults of transformers. */
    public static ModernBertConfig of(JsonObject config) {
        config.require("hidden_activation", "gelu");
        config.require("classifier_activation", "gelu");
        for (String member : List.of("head_dim", "quantization_config", "rope_scaling")) {
            config.require(member, null);
        }
        config.require("is_decoder", false);
        config.require("add_cross_attention", false);
        Sizes sizes = sizes(config);
        String pooling = config.has(POOLING) ? config.text(POOLING) : "cls";
        if (!pooling.equals("cls") && !pooling.equals("mean")) {
            throw config.fail(POOLING, "cls or mean");
        }
        JsonObject ropes = ropes(config);
        double globalTheta = theta(ropes, GLOBAL, config, "global_rope_theta", 160_000);
        return new ModernBertConfig(
                sizes,
                config.has("norm_eps") ? config.number("norm_eps") : 1e-5,
                local(config, sizes.layers()),
                config.integer("local_attention", 0, MOST, 128) / 2,
                globalTheta,
                theta(ropes, LOCAL, config, "local_rope_theta", 10_000),
                Biases.of(config),
                pooling.equals("mean"));
    }

    /**
     * Returns whether each layer is local. Newer files list the types of layers. In older files, every n-th layer is global, beginning with the
     * first layer.
     */
    private static List<Boolean> local(JsonObject config, int layers) {
        if (!config.has(LAYER_TYPES)) {
            int every = config.integer(EVERY, 1, MOST, 3);
            return IntStream.range(0, layers)
                    .mapToObj(layer -> layer % every != 0)
                    .toList();
        }
        List<?> types = config.array(LAYER_TYPES);
        if (types.size() != layers || !types.stream().allMatch(type -> GLOBAL.equals(type) || LOCAL.equals(type))) {
            throw config.fail(LAYER_TYPES, GLOBAL + " or " + LOCAL + " for each of " + layers + " layers");
        }
        return types.stream().map(LOCAL::equals).toList();
    }

    private static @Nullable JsonObject ropes(JsonObject config) {
        if (!config.has(ROPES)) {
            return null;
        }
        JsonObject ropes = config.object(ROPES);
        if (!Set.of(GLOBAL, LOCAL).containsAll(ropes.names())) {
            throw config.fail(ROPES, "members " + GLOBAL + " and " + LOCAL);
        }
        return ropes;
    }

    private static JsonObject rope(JsonObject rope) {
        rope.require("rope_type", "default");
        if (!Set.of("rope_type", "rope_theta").containsAll(rope.names())) {
            throw Checks.fail(rope.name(), rope.members().toString(), "expected rope_type and rope_theta alone");
        }
        return rope;
    }

    /** Returns a rotation's base, which newer files store by type of layer. */
    private static double theta(
            @Nullable JsonObject ropes, String type, JsonObject config, String older, double otherwise) {
        JsonObject rope = ropes != null && ropes.has(type) ? rope(ropes.object(type)) : null;
        JsonObject from = rope != null && rope.has("rope_theta") ? rope : config;
        String member = from == config ? older : "rope_theta";
        if (from.names().contains(member) && !from.has(member)) {
            throw from.fail(member, "a number");
        }
        double theta = from.has(member) ? from.number(member) : otherwise;
        if (!(theta > 1 && theta <= Float.MAX_VALUE)) {
            throw from.fail(member, "a number above 1");
        }
        return theta;
    }

    @Override
    public EncoderNames names(boolean classifies) {
        return new EncoderNames(
                WORDS + ".weight",
                List.of("", "model."),
                List.of("embeddings.", "layers.", "final_norm."),
                classifies ? List.of(HEAD, CLASSIFIER) : List.of(),
                List.of(HEAD, CLASSIFIER, "decoder."),
                Set.of());
    }

    @Override
    public Transformer model(Weights weights) {
        EmbeddingTables tables = weights.words(WORDS + ".weight", Shape.of(sizes.vocabulary(), sizes.dim()))
                .withNorm(norm(weights, "embeddings.norm"));
        Rope global = rope(globalTheta);
        Rope near = rope(localTheta);
        List<Block> blocks = new ArrayList<>();
        for (int layer = 0; layer < sizes.layers(); layer++) {
            Block block = block(weights, layer, local.get(layer) ? near : global);
            boolean last = layer == sizes.layers() - 1;
            blocks.add(last ? block.withResultNorm(norm(weights, "final_norm")) : block);
        }
        return Transformer.of(tables, blocks);
    }

    private Rope rope(double theta) {
        return Rope.of(Rope.Config.of(sizes.dim() / sizes.heads()).withTheta(theta));
    }

    private Block block(Weights weights, int layer, Rope rope) {
        String name = "layers." + layer + ".";
        int dim = sizes.dim();
        Norm attentionNorm = layer == 0 ? null : norm(weights, name + "attn_norm");
        LinearGroup projections = LinearGroup.concatenated(
                weights.linear(name + "attn.Wqkv", 3 * dim, dim, biases.attention), dim, dim, dim);
        AttentionOptions seen =
                AttentionOptions.DEFAULT.withMask(local.get(layer) ? Mask.window(reach, reach) : Mask.NONE);
        SelfAttention attention = SelfAttention.of(
                        sizes.heads(),
                        sizes.heads(),
                        projections,
                        weights.linear(name + "attn.Wo", dim, dim, biases.attention),
                        seen)
                .withRope(rope);
        Norm feedForwardNorm = norm(weights, name + "mlp_norm");
        LinearGroup gateAndUp = LinearGroup.concatenated(
                weights.linear(name + "mlp.Wi", 2 * sizes.inner(), dim, biases.feedForward),
                sizes.inner(),
                sizes.inner());
        FeedForward feedForward = FeedForward.gated(
                Activation.GELU, gateAndUp, weights.linear(name + "mlp.Wo", dim, sizes.inner(), biases.feedForward));
        return Block.sandwichNorm(attentionNorm, attention, null, feedForwardNorm, feedForward, null);
    }

    private Norm norm(Weights weights, String name) {
        return EncoderConfig.norm(weights, name, sizes.dim(), epsilon, biases.norm);
    }

    @Override
    public ClassificationHead head(Weights weights, int labels) {
        int dim = sizes.dim();
        ClassificationHead.LayerNorm norm = new ClassificationHead.LayerNorm(
                weights.numbers(HEAD + "norm.weight", dim).toArray(),
                biases.norm ? weights.numbers(HEAD + "norm.bias", dim).toArray() : new float[dim],
                epsilon);
        return ClassificationHead.normalized(
                weights.linear(HEAD + "dense", dim, dim, biases.head).withActivation(Activation.GELU),
                classifiesMean,
                norm,
                weights.numbers(CLASSIFIER + "weight", labels, dim).toArray(),
                weights.numbers(CLASSIFIER + "bias", labels).toArray());
    }

    @Override
    public Map<String, Object> toJson() {
        Map<String, Object> config = new LinkedHashMap<>();
        config.put("model_type", TYPE);
        config.put("hidden_size", sizes.dim());
        config.put("num_hidden_layers", sizes.layers());
        config.put("num_attention_heads", sizes.heads());
        config.put("intermediate_size", sizes.inner());
        config.put("vocab_size", sizes.vocabulary());
        config.put("max_position_embeddings", sizes.positions());
        config.put("norm_eps", epsilon);
        config.put(
                LAYER_TYPES, local.stream().map(near -> near ? LOCAL : GLOBAL).toList());
        config.put("local_attention", 2 * reach);
        config.put("global_rope_theta", globalTheta);
        config.put("local_rope_theta", localTheta);
        config.put("attention_bias", biases.attention);
        config.put("norm_bias", biases.norm);
        config.put("mlp_bias", biases.feedForward);
        return config;
    }
}

package io.multihead.decoder;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Beside;
import io.multihead.decoder.DecoderConfig.Head;
import io.multihead.decoder.DecoderConfig.Heads;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.decoder.DecoderConfig.Values;
import io.multihead.internal.base.Checks;
import io.multihead.internal.load.Weights;
import io.multihead.model.Block;
import io.multihead.model.Branches;
import io.multihead.model.EmbeddingTables;
import io.multihead.model.Experts;
import io.multihead.model.FeedForward;
import io.multihead.model.KeyValueSizes;
import io.multihead.model.LayerEmbeddings;
import io.multihead.model.LayerInput;
import io.multihead.model.LinearGroup;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.model.Part;
import io.multihead.model.SelfAttention;
import io.multihead.model.ShortConvolution;
import io.multihead.model.Sublayer;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Makes a model from a configuration and weights. The names of weights are GGUF's, and their shapes are {@code [outputs, inputs]}. */
final class DecoderBuilder {
    private static final String EMBEDDINGS = "token_embd.weight";
    private static final String HEAD = "output.weight";
    /** The name of a head of two rows, as the converter of llama.cpp writes it. */
    private static final String ANSWERS = "cls.output.weight";

    private static final String FINAL_NORM = "output_norm.weight";
    /** The name of LFM2's final norm in GGUF files. */
    private static final String OLD_FINAL_NORM = "token_embd_norm.weight";

    private final DecoderConfig config;
    private final Weights weights;
    /** Whether the head may be missing. */
    private final boolean isForEmbeddings;
    /** Whether the head scores yes and no. */
    private final boolean ranks;

    private final LoadListener listener;

    private DecoderBuilder(
            DecoderConfig config, Weights weights, boolean isForEmbeddings, boolean ranks, LoadListener listener) {
        this.config = config;
        this.weights = weights;
        this.isForEmbeddings = isForEmbeddings;
        this.ranks = ranks;
        this.listener = listener;
    }

    static Transformer build(
            DecoderConfig config, Weights weights, boolean isForEmbeddings, boolean ranks, LoadListener listener) {
        return new DecoderBuilder(config, weights, isForEmbeddings, ranks, listener).build();
    }

    private Transformer build() {
        int all = config.sizes().layers() + 2;
        EmbeddingTables embeddings = embeddings();
        listener.onPart(1, all);
        List<Block> blocks = new ArrayList<>();
        for (int layer = 0; layer < config.sizes().layers(); layer++) {
            blocks.add(block(layer));
            listener.onPart(2 + layer, all);
        }
        PackedLinear head = head(embeddings.vocabulary());
        Transformer stack = Transformer.of(embeddings, blocks)
                .withFinalNorm(norm(
                        weights.has(OLD_FINAL_NORM) ? OLD_FINAL_NORM : FINAL_NORM,
                        config.sizes().dim()))
                .withLogitCap(config.ends().softCap());
        stack = config.layerInputs() == 0 ? stack : stack.withLayerEmbeddings(layerEmbeddings());
        Transformer model = head == null ? stack : stack.withHead(head);
        weights.requireAllUsed();
        listener.onPart(all, all);
        return model;
    }

    private EmbeddingTables embeddings() {
        return weights.words(EMBEDDINGS, null).withScale(config.ends().embeddingScale());
    }

    /**
     * Returns the output head. If the model ranks, the head has the rows of yes and no, in the order of the file's labels. Otherwise the
     * embeddings are the head if the file has no head, or if the file stores both and declares them tied. Models for embeddings may have no
     * head; the result is then null.
     */
    private @Nullable PackedLinear head(int vocabulary) {
        Head rule = config.ends().head();
        boolean own = rule == Head.OWN || rule == Head.ANY && weights.has(HEAD);
        if (!own && (weights.isChanged(HEAD) || weights.isChanged(EMBEDDINGS) && !isForEmbeddings)) {
            Checks.in("adapter", () -> {
                weights.requireSame(HEAD, EMBEDDINGS);
                return weights;
            });
        }
        weights.ignore(HEAD);
        if (ranks) {
            return PackedLinear.of(weights.matrix(ANSWERS, 2, config.sizes().dim()));
        }
        if (own && !weights.has(HEAD) && isForEmbeddings) {
            return null;
        }
        String name = own ? HEAD : EMBEDDINGS;
        PackedLinear head =
                PackedLinear.of(weights.matrix(name, vocabulary, config.sizes().dim()));
        return config.ends().logitScale() == 1
                ? head
                : head.withScale(config.ends().logitScale());
    }

    private Block block(int layer) {
        Sizes sizes = config.sizes();
        String at = "blk." + layer + ".";
        LayerRule rule = config.layers().get(layer);
        DecoderConfig.RecurrentRule recurrent = config.recurrent();
        Part attention = recurrent != null && recurrent.layers().contains(layer)
                ? recurrent(recurrent, at)
                : rule.taps() > 0 ? convolution(at, rule.taps()) : attention(at, rule);
        DecoderConfig.ExpertRule experts = config.experts();
        boolean branches = experts != null && experts.beside() == Beside.BRANCH;
        Part feedForward = experts == null || experts.dense().contains(layer)
                ? feedForward(at)
                : branches ? branches(at, experts) : ExpertLayer.of(config, experts, weights, at);
        Norm before = norm(at + "attn_norm.weight", sizes.dim());
        Norm between = branches ? null : norm(betweenName(at), sizes.dim());
        if (!config.norms().sandwich()) {
            return Block.of(Sublayer.preNorm(before, attention), new Sublayer(feedForward, between, null, null));
        }
        Norm afterAttention = norm(at + "post_attention_norm.weight", sizes.dim());
        Norm afterFeedForward = norm(at + "post_ffw_norm.weight", sizes.dim());
        Block block = Block.sandwichNorm(before, attention, afterAttention, between, feedForward, afterFeedForward);
        Block all = config.layerInputs() == 0 ? block : withLayerInput(block, at, layer);
        String scale = at + "layer_output_scale.weight";
        return weights.has(scale) ? all.withScale(weights.numbers(scale, 1).get(0)) : all;
    }

    private Part recurrent(DecoderConfig.RecurrentRule rule, String at) {
        return switch (rule) {
            case DecoderConfig.LinearRule linear -> LinearLayer.of(config, linear, weights, at);
            case DecoderConfig.MambaRule mamba -> MambaLayer.of(config, mamba, weights, at);
        };
    }

    /** Returns a feed-forward layer in parallel with experts. Both read the unchanged states, and each has separate norms. */
    private Branches branches(String at, DecoderConfig.ExpertRule rule) {
        int dim = config.sizes().dim();
        Norm before = norm(at + "ffn_norm.weight", dim);
        Norm after = norm(at + "post_ffw_norm_1.weight", dim);
        Experts experts = ExpertLayer.of(config, rule, weights, at).withNorm(norm(at + "pre_ffw_norm_2.weight", dim));
        return Branches.of(
                new Sublayer(feedForward(at), before, after, null),
                new Sublayer(experts, null, norm(at + "post_ffw_norm_2.weight", dim), null));
    }

    /** Adds the part of a layer that reads the layer's own embeddings. */
    private Block withLayerInput(Block block, String at, int layer) {
        int dim = config.sizes().dim();
        int inner = config.layerInputs();
        PackedLinear gate = linear(at + "inp_gate", inner, dim).withActivation(config.activation());
        LayerInput input = LayerInput.of(gate, linear(at + "proj", dim, inner), layer);
        List<Sublayer> all = new ArrayList<>(block.sublayers());
        all.add(new Sublayer(input, null, norm(at + "post_norm.weight", dim), null));
        return Block.of(all.toArray(Sublayer[]::new));
    }

    private LayerEmbeddings layerEmbeddings() {
        int dim = config.sizes().dim();
        int inner = config.layerInputs();
        PackedLinear projection = linear(
                        "per_layer_model_proj", inner * config.sizes().layers(), dim)
                .withScale(1 / Math.sqrt(dim));
        return LayerEmbeddings.of(
                weights.words("per_layer_token_embd.weight", null).withScale(Math.sqrt(inner)),
                projection,
                norm("per_layer_proj_norm.weight", inner));
    }

    private ShortConvolution convolution(String at, int taps) {
        int dim = config.sizes().dim();
        Tensor factors = LinearLayer.taps(weights, at + "shortconv.conv.weight", dim, taps);
        PackedLinear in = linear(at + "shortconv.in_proj", 3 * dim, dim);
        return ShortConvolution.of(in, factors, linear(at + "shortconv.out_proj", dim, dim));
    }

    private SelfAttention attention(String at, LayerRule layer) {
        Sizes sizes = config.sizes();
        AttentionRule rule = config.attention();
        Heads own = layer.heads();
        Heads heads = own == null ? new Heads(sizes.headDim(), sizes.keyValueHeads(), Values.OWN) : own;
        if (layer.keysOf() >= 0) {
            return sharing(at, layer, heads);
        }
        int queries = sizes.heads() * heads.headDim();
        int gates = rule.gated() ? queries : 0;
        int keys = heads.keyValueHeads() * heads.headDim();
        LinearGroup projections = config.fused()
                ? LinearLayer.parts(weights, at + "attn_qkv.weight", sizes.dim(), queries, keys, keys)
                : projections(at, queries + gates, keys, heads.values());
        PackedLinear output = residual(linear(at + "attn_output", sizes.dim(), queries));
        AttentionOptions options = options(at, layer, rule);
        SelfAttention plain = rule.gated()
                ? SelfAttention.gated(sizes.heads(), heads.keyValueHeads(), projections, output, options)
                : SelfAttention.of(sizes.heads(), heads.keyValueHeads(), projections, output, options);
        SelfAttention attention = plain.withRope(layer.rope());
        if (rule.normalizesHeads()) {
            attention = attention.withHeadNorms(
                    norm(at + "attn_q_norm.weight", heads.headDim()), norm(at + "attn_k_norm.weight", heads.headDim()));
        }
        return own == null ? attention : attention.withValueNorm(plainNorm(heads.headDim()));
    }

    /** Returns the projections of query, key and value, or of query and key if the projected keys are also the values. */
    private LinearGroup projections(String at, int queries, int keys, Values values) {
        PackedLinear query = projection(at + "attn_q", queries);
        PackedLinear key = projection(at + "attn_k", keys);
        String value = at + "attn_v";
        boolean isKey = values == Values.KEYS || values == Values.ANY && !weights.has(value + ".weight");
        return isKey ? LinearGroup.of(query, key) : LinearGroup.of(query, key, projection(value, keys));
    }

    /**
     * Returns the attention of a layer that uses the keys of another layer. Files may contain unused weights of keys and values of such a
     * layer.
     */
    private SelfAttention sharing(String at, LayerRule layer, Heads heads) {
        for (String unused : List.of("attn_k", "attn_v", "attn_k_norm")) {
            weights.ignore(at + unused + ".weight");
        }
        Sizes sizes = config.sizes();
        int queries = sizes.heads() * heads.headDim();
        return SelfAttention.sharing(
                        sizes.heads(),
                        new KeyValueSizes(heads.keyValueHeads(), heads.headDim(), heads.headDim(), layer.window()),
                        projection(at + "attn_q", queries),
                        linear(at + "attn_output", sizes.dim(), queries),
                        options(at, layer, config.attention()),
                        layer.keysOf())
                .withRope(layer.rope())
                .withHeadNorms(norm(at + "attn_q_norm.weight", heads.headDim()), null);
    }

    /** Returns a norm without weights. */
    private Norm plainNorm(int length) {
        float[] ones = new float[length];
        Arrays.fill(ones, 1f);
        return Norm.rms(Tensor.of(ones), config.norms().epsilon());
    }

    /**
     * Returns the name of the norm between attention and feed-forward layer. GPT-OSS files name this norm {@code post_attention_norm};
     * Gemma files use the same name for another norm.
     */
    private String betweenName(String at) {
        String after = at + "post_attention_norm.weight";
        String name = at + "ffn_norm.weight";
        return !config.norms().sandwich() && !weights.has(name) && weights.has(after) ? after : name;
    }

    /** Returns a linear layer whose result is added to the residual stream, multiplied by the model's factor for such results. */
    private PackedLinear residual(PackedLinear layer) {
        return LinearLayer.scaled(layer, config.norms().residualScale());
    }

    private AttentionOptions options(String at, LayerRule layer, AttentionRule rule) {
        Mask mask = layer.window() == 0 ? Mask.CAUSAL : Mask.CAUSAL.and(Mask.window(layer.window() - 1, 0));
        ScoreOptions scores = ScoreOptions.NONE.withSoftCap(rule.softCap());
        if (rule.hasSinks()) {
            Tensor sinks =
                    weights.numbers(at + "attn_sinks.weight", config.sizes().heads());
            scores = scores.withSinks(sinks.toArray());
        }
        return AttentionOptions.DEFAULT.withMask(mask).withScale(rule.scale()).withScores(scores);
    }

    private FeedForward feedForward(String at) {
        int dim = config.sizes().dim();
        String joined = at + (config.fused() ? "ffn_up.weight" : "ffn_gate_up.weight");
        boolean isJoined = config.fused() || weights.has(joined);
        int inner = isJoined ? weights.outputs(joined) / 2 : weights.outputs(at + "ffn_gate.weight");
        LinearGroup gateAndUp = isJoined
                ? LinearLayer.parts(weights, joined, dim, inner, inner)
                : LinearGroup.of(linear(at + "ffn_gate", inner, dim), linear(at + "ffn_up", inner, dim));
        return FeedForward.gated(config.activation(), gateAndUp, residual(linear(at + "ffn_down", dim, inner)));
    }

    private PackedLinear projection(String name, int outputs) {
        boolean hasBias = config.attention().needsBiases() || weights.has(name + ".bias");
        return weights.linear(name, outputs, config.sizes().dim(), hasBias);
    }

    private PackedLinear linear(String name, int outputs, int inputs) {
        return LinearLayer.linear(weights, name, outputs, inputs);
    }

    private Norm norm(String name, int length) {
        NormRule rule = config.norms();
        Tensor weight = weights.numbers(name, length);
        return rule.onePlus() ? Norm.rmsOfOnePlus(weight, rule.epsilon()) : Norm.rms(weight, rule.epsilon());
    }
}

package io.multihead.decoder;

import io.multihead.compute.Compute;
import io.multihead.decoder.DecoderConfig.AttentionRule;
import io.multihead.decoder.DecoderConfig.Ends;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.NormRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.gemm.Activation;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import io.multihead.text.SentencePieceTokenizer;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import io.multihead.text.SpecialIds;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import io.multihead.text.TokenType;
import io.multihead.text.Tokenizer;
import io.multihead.text.Vocabulary;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;

/** A small Llama model with random weights. Its tokens are bytes, BOS is 256 and EOS is 257. */
final class TinyDecoder {
    static final int BEGIN = 256;
    static final int END = 257;
    static final int CONTEXT = 200;
    /** The number of rows of the embedding table. It exceeds the number of tokens, and additional rows must never be chosen. */
    private static final int ROWS = 300;

    private TinyDecoder() {}

    static DecoderConfig config() {
        return config(CONTEXT);
    }

    private static DecoderConfig config(int context) {
        LayerRule layer = new LayerRule(Rope.of(Rope.Config.of(8)), 0);
        return config(context, layer, layer);
    }

    private static DecoderConfig config(int context, LayerRule first, LayerRule second) {
        Sizes sizes = new Sizes(2, 32, 4, 2, 8, context);
        return new DecoderConfig(
                "tiny",
                sizes,
                new AttentionRule(Rules.scale(sizes), false, false, 0),
                new NormRule(1e-5, false, false),
                List.of(first, second),
                Activation.SILU,
                new Ends(1, 0, DecoderConfig.Head.ANY));
    }

    static Map<String, Tensor> weights(DecoderConfig config, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Sizes sizes = config.sizes();
        int dim = sizes.dim();
        int inner = 48;
        int keys = sizes.keyValueHeads() * sizes.headDim();
        Map<String, Tensor> all = new LinkedHashMap<>();
        all.put("token_embd.weight", draw(random, 1, ROWS, dim));
        for (int layer = 0; layer < sizes.layers(); layer++) {
            String at = "blk." + layer + ".";
            all.put(at + "attn_norm.weight", ones(random, dim));
            all.put(at + "attn_q.weight", draw(random, 0.4, sizes.heads() * sizes.headDim(), dim));
            all.put(at + "attn_k.weight", draw(random, 0.4, keys, dim));
            all.put(at + "attn_v.weight", draw(random, 0.4, keys, dim));
            all.put(at + "attn_output.weight", draw(random, 0.4, dim, sizes.heads() * sizes.headDim()));
            all.put(at + "ffn_norm.weight", ones(random, dim));
            all.put(at + "ffn_gate.weight", draw(random, 0.4, inner, dim));
            all.put(at + "ffn_up.weight", draw(random, 0.4, inner, dim));
            all.put(at + "ffn_down.weight", draw(random, 0.4, dim, inner));
        }
        all.put("output_norm.weight", ones(random, dim));
        all.put("output.weight", draw(random, 0.4, ROWS, dim));
        return all;
    }

    private static Tensor draw(SplittableRandom random, double deviation, int rows, int columns) {
        float[] values = new float[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(0, deviation);
        }
        return Tensor.of(values, rows, columns);
    }

    private static Tensor ones(SplittableRandom random, int length) {
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) random.nextGaussian(1, 0.2);
        }
        return Tensor.of(values);
    }

    /** Returns the tokenizer. Texts end at the tokens in {@code stops}; an empty set means that texts never end. */
    static Tokenizer tokenizer(Set<Integer> stops) {
        return tokenizer(stops, List.of());
    }

    private static Tokenizer tokenizer(Set<Integer> stops, List<String> controls) {
        List<String> tokens = new ArrayList<>();
        List<TokenType> types = new ArrayList<>();
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
            types.add(TokenType.BYTE);
        }
        tokens.addAll(List.of("<s>", "</s>"));
        types.addAll(List.of(TokenType.CONTROL, TokenType.CONTROL));
        tokens.addAll(controls);
        controls.forEach(control -> types.add(TokenType.CONTROL));
        SpecialIds special =
                new SpecialIds(BEGIN, END, SpecialIds.NONE, SpecialIds.NONE, stops, AddedSpecialTokens.BEGIN);
        return SentencePieceTokenizer.of(
                Vocabulary.of(tokens, types).withScores(new float[tokens.size()]), special, SpacePrefix.NONE);
    }

    static LanguageModel model(Compute cpu, long seed) {
        return model(cpu, weights(config(), seed));
    }

    /** Returns a model that generates no end token. */
    static LanguageModel endless(Compute cpu, long seed) {
        return model(cpu, weights(config(), seed), Set.of());
    }

    static LanguageModel model(Compute cpu, Map<String, Tensor> tensors) {
        return model(cpu, tensors, Set.of(END));
    }

    private static LanguageModel model(Compute cpu, Map<String, Tensor> tensors, Set<Integer> stops) {
        return model(cpu, tensors, tokenizer(stops), config(), UnaryOperator.identity());
    }

    /** Returns a model with some parts replaced. */
    static LanguageModel changed(Compute cpu, long seed, UnaryOperator<Transformer> change) {
        return model(cpu, weights(config(), seed), tokenizer(Set.of(END)), config(), change);
    }

    /**
     * Returns a model that generates no end token. The windows of its two layers are {@code first} and {@code second}, where 0 means no
     * window.
     */
    static LanguageModel windowed(Compute cpu, long seed, int context, int first, int second) {
        Rope rope = Rope.of(Rope.Config.of(8));
        DecoderConfig config = config(context, new LayerRule(rope, first), new LayerRule(rope, second));
        return model(cpu, weights(config, seed), tokenizer(Set.of()), config, UnaryOperator.identity());
    }

    /** Returns a model with additional control tokens and this context length. */
    static LanguageModel model(Compute cpu, long seed, List<String> controls, int context) {
        DecoderConfig config = config(context);
        Tokenizer tokenizer = tokenizer(Set.of(END), controls);
        return model(cpu, weights(config, seed), tokenizer, config, UnaryOperator.identity());
    }

    private static LanguageModel model(
            Compute cpu,
            Map<String, Tensor> tensors,
            Tokenizer tokenizer,
            DecoderConfig config,
            UnaryOperator<Transformer> change) {
        Loading loading = Loading.of(cpu);
        Weights weights = new Weights(loading, WeightSource.of(tensors));
        Transformer model = change.apply(DecoderBuilder.build(config, weights, false, false, LoadListener.NONE));
        return new LanguageModel(
                cpu,
                new LoadedDecoder(
                        new DecoderFiles(
                                "tiny",
                                new LlamaFamily(),
                                config,
                                tokenizer,
                                FileTemplates.NONE,
                                EmbedderSettings.DEFAULT,
                                Map::of),
                        model,
                        weights,
                        ModelIdentity.Tensors.of(weights),
                        loading));
    }
}

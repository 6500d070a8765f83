package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.decoder.Settings.RopeRequest;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Rules that families share. */
final class Rules {
    static final String FULL = "full_attention";
    static final String SLIDING = "sliding_attention";

    private static final String LAYERS = "num_hidden_layers";
    private static final String HEADS = "num_attention_heads";
    private static final String KEY_HEADS = "num_key_value_heads";
    private static final String HEAD_DIM = "head_dim";
    private static final String USED_EXPERTS = "num_experts_per_tok";

    private Rules() {}

    /**
     * Returns the sizes of a model whose heads have {@code hidden_size / num_attention_heads} elements unless a setting states another
     * number.
     */
    static Sizes sizes(Settings settings) {
        return sizes(settings, 0);
    }

    /**
     * Returns the sizes of a model.
     *
     * @param headDim the number of elements of a head if a {@code config.json} omits it; 0 for {@code hidden_size / num_attention_heads}
     */
    static Sizes sizes(Settings settings, int headDim) {
        return sizes(settings, headDim, size(settings, settings.has(KEY_HEADS) ? KEY_HEADS : HEADS));
    }

    /** Returns the sizes of a model. The number of key and value heads comes from another setting, or from each layer. */
    static Sizes sizes(Settings settings, int headDim, int keyValueHeads) {
        int layers = size(settings, LAYERS);
        // each layer has at least one tensor; without this check, objects would be made for layers that do not exist
        if (layers > settings.tensors()) {
            throw settings.fail(LAYERS, "at most the " + settings.tensors() + " tensors of the file");
        }
        int dim = size(settings, "hidden_size");
        int heads = size(settings, HEADS);
        if (heads % keyValueHeads != 0) {
            throw settings.fail(HEADS, "a multiple of the " + keyValueHeads + " of num_key_value_heads");
        }
        int implied = headDim == 0 || settings.isGguf() ? dim / heads : headDim;
        int elements = settings.has(HEAD_DIM) ? size(settings, HEAD_DIM) : implied;
        if (elements == 0 || elements > Settings.MOST / heads) {
            throw settings.fail(HEAD_DIM, "1 to " + Settings.MOST / heads + ", as there are " + heads + " heads");
        }
        return new Sizes(layers, dim, heads, keyValueHeads, elements, size(settings, "max_position_embeddings"));
    }

    /** Returns a size of at least 1. */
    static int size(Settings settings, String key) {
        int size = settings.integer(key);
        if (size < 1) {
            throw settings.fail(key, "1 to " + Settings.MOST);
        }
        return size;
    }

    /** Returns a size of at least 1, or a default. */
    static int size(Settings settings, String key, int otherwise) {
        return settings.has(key) ? size(settings, key) : otherwise;
    }

    /** Returns a size of at least 1, which GGUF files must contain; other files may omit it. */
    static int sizeOrUsual(Settings settings, String key, int usual) {
        return settings.isGguf() ? size(settings, key) : size(settings, key, usual);
    }

    /** Returns the epsilon of norms, which must exist. */
    static double epsilon(Settings settings) {
        String key = "rms_norm_eps";
        return settings.has(key) ? settings.notNegative(key, 0) : settings.number(key);
    }

    /** Returns the factor of scores if no setting states another one. */
    static double scale(Sizes sizes) {
        return 1 / Math.sqrt(sizes.headDim());
    }

    /** Returns the rotary positions of all layers, with the base of most models. */
    static Rope rope(Settings settings, Sizes sizes, Pairing gguf) {
        return settings.rope(request(sizes, gguf));
    }

    static RopeRequest request(Sizes sizes, Pairing gguf) {
        return RopeRequest.of(sizes.headDim(), sizes.context(), gguf);
    }

    /** Returns experts in all layers, with normalized factors. Files must contain their numbers. */
    static ExpertRule experts(Settings settings, String count) {
        return experts(settings, count, USED_EXPERTS);
    }

    /** Returns experts in all layers, with normalized factors and another setting for the number of experts of a token. */
    static ExpertRule experts(Settings settings, String count, String used) {
        return experts(settings, count, size(settings, count), used, size(settings, used));
    }

    /** Returns experts in all layers, with normalized factors. Files other than GGUF may omit their numbers. */
    static ExpertRule experts(Settings settings, String count, int usual, int usualUsed) {
        int experts = sizeOrUsual(settings, count, usual);
        return experts(settings, count, experts, USED_EXPERTS, sizeOrUsual(settings, USED_EXPERTS, usualUsed));
    }

    private static ExpertRule experts(Settings settings, String count, int experts, String used, int ofToken) {
        if (ofToken > experts) {
            throw settings.fail(used, "at most the " + experts + " of " + count);
        }
        return new ExpertRule(experts, ofToken, true, List.of());
    }

    static List<LayerRule> layers(Sizes sizes, IntFunction<LayerRule> rule) {
        return IntStream.range(0, sizes.layers()).mapToObj(rule).toList();
    }

    /** Returns the type of each layer, full or sliding; null if no setting states the types. */
    static @Nullable List<String> layerTypes(Settings settings, Sizes sizes) {
        String key = "layer_types";
        List<String> types = settings.texts(key);
        if (types != null
                && (types.size() != sizes.layers()
                        || !types.stream().allMatch(type -> type.equals(FULL) || type.equals(SLIDING)))) {
            throw settings.fail(key, FULL + " or " + SLIDING + " for each of the " + sizes.layers() + " layers");
        }
        return types;
    }

    /**
     * Returns the layers of one of two types.
     *
     * @param key a setting that exists, and contains the type of each layer
     */
    static List<Integer> layersOf(Settings settings, String key, Sizes sizes, String type, String other) {
        List<String> types = settings.texts(key);
        if (types == null
                || types.size() != sizes.layers()
                || !types.stream().allMatch(each -> each.equals(type) || each.equals(other))) {
            throw settings.fail(key, type + " or " + other + " for each of the " + sizes.layers() + " layers");
        }
        return IntStream.range(0, sizes.layers())
                .filter(layer -> types.get(layer).equals(type))
                .boxed()
                .toList();
    }

    /**
     * The settings of each layer's heads in GGUF files.
     *
     * @param keyValueHeads the number of key and value heads of layers with attention
     * @param without the layers without attention
     */
    record LayerHeads(int keyValueHeads, List<Integer> without) {}

    /**
     * Returns the heads of a GGUF file whose setting has a number for each layer, which is 0 for layers without attention; null if the
     * setting is one number.
     */
    static @Nullable LayerHeads layerHeads(Settings settings) {
        List<Long> heads = settings.isGguf() ? settings.integers(KEY_HEADS) : null;
        if (heads == null) {
            return null;
        }
        long most = heads.stream().mapToLong(each -> each).max().orElse(0);
        if (most < 1 || most > Settings.MOST) {
            throw settings.fail(KEY_HEADS, "one layer with attention at least");
        }
        int layers = size(settings, LAYERS);
        if (heads.size() != layers) {
            throw settings.fail(KEY_HEADS, "one for each of " + layers + " layers");
        }
        if (heads.stream().anyMatch(each -> each != 0 && each != most)) {
            throw settings.fail(KEY_HEADS, "0 or one number");
        }
        return new LayerHeads(
                (int) most,
                IntStream.range(0, layers)
                        .filter(layer -> heads.get(layer) == 0)
                        .boxed()
                        .toList());
    }
}

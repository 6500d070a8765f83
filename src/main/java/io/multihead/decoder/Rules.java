package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.decoder.DecoderConfig.Sizes;
import io.multihead.decoder.Settings.RopeRequest;
import io.multihead.position.Rope;
import io.multihead.position.Rope.Pairing;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** What families have in common. */
final class Rules {
    private static final double DEFAULT_THETA = 10_000;

    private Rules() {}

    static Sizes sizes(Settings settings) {
        int dim = settings.integer("hidden_size");
        int heads = settings.integer("num_attention_heads");
        if (heads < 1) {
            throw settings.fail("num_attention_heads", "at least 1");
        }
        return new Sizes(
                settings.integer("num_hidden_layers"),
                dim,
                heads,
                settings.integer("num_key_value_heads", heads),
                settings.integer("head_dim", dim / heads),
                settings.integer("max_position_embeddings"));
    }

    /** Returns the factor of scores where no setting says another. */
    static double scale(Sizes sizes) {
        return 1 / Math.sqrt(sizes.headDim());
    }

    /** Returns the rotation of all layers, with the base of most models. */
    static Rope rope(Settings settings, Sizes sizes, Pairing gguf) {
        return settings.rope(new RopeRequest(sizes.headDim(), sizes.context(), DEFAULT_THETA, gguf));
    }

    static List<LayerRule> layers(Sizes sizes, IntFunction<LayerRule> rule) {
        return IntStream.range(0, sizes.layers()).mapToObj(rule).toList();
    }
}

package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.LayerRule;
import io.multihead.model.Block;
import io.multihead.model.Transformer;
import io.multihead.position.Rope;
import io.multihead.position.RopeScaling;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Chooses the factors of LongRoPE. One list of factors is for contexts up to the length of the original training, and another list is for
 * longer contexts. Keys with the factors of one list do not fit queries with the factors of the other list. Therefore the longest text that
 * a session may have determines the list, before the first token of the session.
 */
final class ContextRopes {
    private ContextRopes() {}

    /** Returns a model for contexts of a number of tokens: the given model, or a model with the same weights and other frequencies. */
    static Transformer of(Transformer model, List<LayerRule> layers, int tokens) {
        Map<Rope, Rope> changed = new IdentityHashMap<>();
        List<Block> blocks = new ArrayList<>();
        boolean same = true;
        for (int layer = 0; layer < layers.size(); layer++) {
            Block block = model.blocks().get(layer);
            Rope rope = layers.get(layer).rope();
            Rope fitting = rope == null ? null : changed.computeIfAbsent(rope, of -> of(of, tokens));
            same &= rope == fitting;
            blocks.add(
                    rope == fitting
                            ? block
                            : block.withAttention(block.attention().withRope(fitting)));
        }
        return same ? model : model.withBlocks(blocks);
    }

    /** Returns the largest number of tokens of a text that has the frequencies of short texts. */
    static int shortTokens(List<LayerRule> layers) {
        for (LayerRule layer : layers) {
            if (layer.rope() != null && layer.rope().config().scaling() instanceof RopeScaling.LongRope longRope) {
                return (int) Math.min(Integer.MAX_VALUE, longRope.originalContext());
            }
        }
        return Integer.MAX_VALUE;
    }

    private static Rope of(Rope rope, int tokens) {
        return rope.config().scaling() instanceof RopeScaling.LongRope longRope
                        && tokens <= longRope.originalContext()
                        && longRope.context() > longRope.originalContext()
                ? Rope.of(rope.config().withScaling(longRope.withContext(tokens)))
                : rope;
    }

    /**
     * Returns a name of the frequencies for contexts of a number of tokens. The keys of a session fit other sessions with the same
     * frequencies.
     */
    static String name(List<LayerRule> layers, int tokens) {
        for (LayerRule layer : layers) {
            if (layer.rope() != null && layer.rope().config().scaling() instanceof RopeScaling.LongRope longRope) {
                long original = longRope.originalContext();
                return "of contexts " + (tokens <= original ? "up to " : "beyond ") + original + " tokens";
            }
        }
        return "of any context";
    }
}

package io.multihead.decoder;

import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.model.LinearHeads;
import io.multihead.model.Mamba2Heads;
import io.multihead.position.Rope;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a decoder: all but its weights: a stack of blocks of causal self-attention and a gated feed-forward layer, each of which
 * normalizes its input by the root mean square and adds its result to it.
 *
 * @param family the name of the family, for messages
 * @param sizes numbers of layers, elements, heads and tokens
 * @param attention the common settings of all layers' attention
 * @param norms how rows are normalized
 * @param layers the settings of each layer
 * @param activation of the feed-forward layer's gate
 * @param ends the settings of embeddings and logits
 * @param fused whether query, key and value are one matrix in files, one below the other, and gate and up another one
 * @param experts the experts in place of a feed-forward layer, or null
 * @param layerInputs elements of the embeddings that each layer has of its own; 0 for none
 * @param recurrent the parts with recurrent states in place of attention in some layers, or null
 */
record DecoderConfig(
        String family,
        Sizes sizes,
        AttentionRule attention,
        NormRule norms,
        List<LayerRule> layers,
        Activation activation,
        Ends ends,
        boolean fused,
        @Nullable ExpertRule experts,
        int layerInputs,
        @Nullable RecurrentRule recurrent) {

    /** A model whose matrices are apart in files. */
    DecoderConfig(
            String family,
            Sizes sizes,
            AttentionRule attention,
            NormRule norms,
            List<LayerRule> layers,
            Activation activation,
            Ends ends) {
        this(family, sizes, attention, norms, layers, activation, ends, false, null, 0, null);
    }

    DecoderConfig withExperts(ExpertRule newExperts) {
        return new DecoderConfig(
                family, sizes, attention, norms, layers, activation, ends, fused, newExperts, layerInputs, recurrent);
    }

    /** Returns this model with embeddings of layers. */
    DecoderConfig withLayerInputs(int newInputs) {
        return new DecoderConfig(
                family, sizes, attention, norms, layers, activation, ends, fused, experts, newInputs, recurrent);
    }

    /** Returns this model with layers that have recurrent states. */
    DecoderConfig withRecurrent(RecurrentRule newRule) {
        return new DecoderConfig(
                family, sizes, attention, norms, layers, activation, ends, fused, experts, layerInputs, newRule);
    }

    /**
     * The sizes of a model.
     *
     * @param context most tokens of a text that the model was trained for
     */
    record Sizes(int layers, int dim, int heads, int keyValueHeads, int headDim, int context) {}

    /**
     * Attention of all layers.
     *
     * @param scale factor of scores
     * @param needsBiases whether query, key and value must have biases; without, they may
     * @param normalizesHeads whether each query and key head is normalized before it is rotated
     * @param softCap the largest absolute score; 0 for none
     * @param hasSinks whether each query head has a score of no key, which counts in the denominator
     * @param gated whether query projections make gates of the context, too
     */
    record AttentionRule(
            double scale,
            boolean needsBiases,
            boolean normalizesHeads,
            double softCap,
            boolean hasSinks,
            boolean gated) {
        /** Attention without gates. */
        AttentionRule(double scale, boolean needsBiases, boolean normalizesHeads, double softCap, boolean hasSinks) {
            this(scale, needsBiases, normalizesHeads, softCap, hasSinks, false);
        }

        /** Attention without gates and sinks. */
        AttentionRule(double scale, boolean needsBiases, boolean normalizesHeads, double softCap) {
            this(scale, needsBiases, normalizesHeads, softCap, false);
        }
    }

    /**
     * How rows are normalized.
     *
     * @param epsilon added to the mean square
     * @param onePlus whether weights are stored less 1
     * @param sandwich whether the results of attention and feed-forward layer are normalized, too, before they are added
     * @param residualScale factor of these results
     */
    record NormRule(double epsilon, boolean onePlus, boolean sandwich, double residualScale) {
        NormRule(double epsilon, boolean onePlus, boolean sandwich) {
            this(epsilon, onePlus, sandwich, 1);
        }
    }

    /**
     * One layer.
     *
     * @param rope rotary positions, shared by layers, or null for none
     * @param window tokens that a token sees, itself included; 0 for all before it
     * @param taps tokens of a short convolution in the place of attention; 0 for attention
     * @param heads the heads where layers differ, or null for those of all; values are then normalized
     * @param keysOf the layer whose keys and values are read; -1 for its own
     */
    record LayerRule(
            @Nullable Rope rope,
            int window,
            int taps,
            @Nullable Heads heads,
            int keysOf) {
        /** A layer with attention. */
        LayerRule(@Nullable Rope rope, int window) {
            this(rope, window, 0, null, -1);
        }

        /** A layer whose heads differ from those of others. */
        static LayerRule of(Rope rope, int window, Heads heads, int keysOf) {
            return new LayerRule(rope, window, 0, heads, keysOf);
        }

        static LayerRule convolution(int taps) {
            return new LayerRule(null, 0, taps, null, -1);
        }
    }

    /**
     * Heads of one layer.
     *
     * @param headDim elements of each
     * @param keyValueHeads those of keys and values
     * @param values which projection makes values
     */
    record Heads(int headDim, int keyValueHeads, Values values) {}

    /** Which projection makes the values of a layer. */
    enum Values {
        /** One in the file; without it it is malformed. */
        OWN,
        KEYS,
        /** One in the file, or else that of the keys. */
        ANY
    }

    /**
     * Experts, chosen by the softmax of a router's logits.
     *
     * @param count experts of a layer
     * @param used experts of a token
     * @param normalized whether the factors of those that are chosen are divided by their sum
     * @param dense layers that have one feed-forward layer and no experts
     * @param clamp limits of gates and ups, or null
     * @param beside the network that computes each token besides
     */
    record ExpertRule(
            int count,
            int used,
            boolean normalized,
            List<Integer> dense,
            @Nullable Clamp clamp,
            Beside beside) {
        ExpertRule {
            dense = List.copyOf(dense);
        }

        ExpertRule(int count, int used, boolean normalized, List<Integer> dense) {
            this(count, used, normalized, dense, null, Beside.NOTHING);
        }

        ExpertRule with(Beside newBeside) {
            return new ExpertRule(count, used, normalized, dense, clamp, newBeside);
        }
    }

    /** The network that computes each token beside the experts that a router chooses. */
    enum Beside {
        NOTHING,
        /** A network. */
        NETWORK,
        /** A network with a gate for each token. */
        GATED,
        /** The feed-forward layer of models without experts; it and the experts have norms of their own, and the router's factors are scaled. */
        BRANCH
    }

    /**
     * The gate of {@link io.multihead.model.FeedForward#clamped}.
     *
     * @param slope factor of the gate in its sigmoid
     * @param limit the largest gate, and the largest magnitude of up
     */
    record Clamp(double slope, double limit) {}

    /** Parts with recurrent states, in place of attention in some layers. */
    sealed interface RecurrentRule {
        /** Returns the layers that have it. */
        List<Integer> layers();
    }

    /**
     * Linear attention by the gated delta rule.
     *
     * @param heads numbers and sizes of heads
     * @param taps tokens of the convolution
     */
    record LinearRule(LinearHeads heads, int taps, List<Integer> layers) implements RecurrentRule {
        LinearRule {
            layers = List.copyOf(layers);
        }
    }

    /**
     * Mamba-2.
     *
     * @param heads numbers and sizes of heads
     * @param taps tokens of the convolution
     * @param normParts in how many parts results are normalized
     */
    record MambaRule(Mamba2Heads heads, int taps, int normParts, List<Integer> layers) implements RecurrentRule {
        MambaRule {
            layers = List.copyOf(layers);
        }
    }

    /**
     * Both ends of the model.
     *
     * @param embeddingScale factor of embeddings
     * @param softCap the largest absolute logit; 0 for none
     * @param head which weights the head has
     * @param logitScale factor of logits
     */
    record Ends(double embeddingScale, double softCap, Head head, double logitScale) {
        Ends(double embeddingScale, double softCap, Head head) {
            this(embeddingScale, softCap, head, 1);
        }

        /** Embeddings and logits as they are. */
        static Ends plain(Settings settings) {
            return new Ends(1, 0, Head.of(settings, false));
        }
    }

    /** Where the weights of the head are. */
    enum Head {
        /** In the file; without them it is malformed. */
        OWN,
        /** The embeddings, though the file may have others. */
        TIED,
        /** In the file, or else the embeddings. */
        ANY;

        /** Reads the file's setting; GGUF files have none, but leave out a head that is tied. */
        static Head of(Settings settings, boolean otherwise) {
            if (settings.isGguf()) {
                return ANY;
            }
            if (settings.flag("tie_word_embeddings", otherwise)) {
                return TIED;
            }
            return settings.has("tie_word_embeddings") ? OWN : ANY;
        }
    }

    DecoderConfig {
        Checks.length(layers.size(), sizes.layers(), "layers", "one per layer");
        layers = List.copyOf(layers);
    }
}

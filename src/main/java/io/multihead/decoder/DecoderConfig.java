package io.multihead.decoder;

import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.model.LinearHeads;
import io.multihead.model.Mamba2Heads;
import io.multihead.position.Rope;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a decoder, without its weights. A decoder is a stack of blocks. A block has causal self-attention and a gated
 * feed-forward layer. Each of these layers normalizes its input by the root mean square and adds its result to its input.
 *
 * @param family the name of the family, for messages
 * @param sizes numbers of layers, elements, heads and tokens
 * @param attention the common settings of all layers' attention
 * @param norms the normalization of rows
 * @param layers the settings of each layer
 * @param activation the activation of the feed-forward layer's gate
 * @param ends the settings of embeddings and logits
 * @param fused whether files store query, key and value as one matrix, with concatenated rows, and gate and up as another matrix
 * @param experts the experts that replace the feed-forward layer, or null
 * @param layerInputs the number of elements of the separate embeddings of each layer; 0 for none
 * @param recurrent the parts with recurrent states that replace attention in some layers, or null
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

    /** A model whose matrices are separate in files. */
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
     * @param context the largest number of tokens of a text in the model's training
     */
    record Sizes(int layers, int dim, int heads, int keyValueHeads, int headDim, int context) {}

    /**
     * The settings of attention that all layers share.
     *
     * @param scale the factor of scores
     * @param needsBiases whether query, key and value must have biases; otherwise biases are optional
     * @param normalizesHeads whether each query and key head is normalized before it is rotated
     * @param softCap the largest absolute score; 0 for none
     * @param hasSinks whether each query head has a sink: a score without a key, which counts in the denominator of the softmax
     * @param gated whether query projections also produce gates of the context
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
     * The normalization of rows.
     *
     * @param epsilon the number that is added to the mean square
     * @param onePlus whether files store weights minus 1
     * @param sandwich whether the results of attention and feed-forward layer are normalized, too, before they are added
     * @param residualScale the factor of these results
     */
    record NormRule(double epsilon, boolean onePlus, boolean sandwich, double residualScale) {
        NormRule(double epsilon, boolean onePlus, boolean sandwich) {
            this(epsilon, onePlus, sandwich, 1);
        }
    }

    /**
     * The settings of one layer.
     *
     * @param rope rotary positions, shared by layers, or null for none
     * @param window the number of tokens that a token sees, including itself; 0 for itself and all tokens before it
     * @param taps the number of tokens of a short convolution that replaces attention; 0 for attention
     * @param heads the heads of this layer, or null for the heads of all layers; if present, values are normalized
     * @param keysOf the layer whose keys and values are read; -1 for this layer
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

        /** A layer whose heads differ from the heads of other layers. */
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
     * @param headDim the number of elements of a head
     * @param keyValueHeads the number of heads of keys and values
     * @param values the projection that produces values
     */
    record Heads(int headDim, int keyValueHeads, Values values) {}

    /** The projection that produces the values of a layer. */
    enum Values {
        /** A projection in the file; a file without it is malformed. */
        OWN,
        KEYS,
        /** A projection in the file, or the projection of the keys if the file has none. */
        ANY
    }

    /**
     * Experts that a router chooses by the softmax of its logits.
     *
     * @param count the number of experts of a layer
     * @param used the number of experts that each token uses
     * @param normalized whether the factors of the chosen experts are divided by their sum
     * @param dense the layers that have one feed-forward layer and no experts
     * @param clamp the limits of gates and ups, or null for none
     * @param beside the network that computes each token in addition to the experts
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

    /** The network that computes each token in addition to the experts that a router chooses. */
    enum Beside {
        NOTHING,
        /** A network. */
        NETWORK,
        /** A network with a gate for each token. */
        GATED,
        /**
         * A feed-forward layer like the one in models without experts. This layer and the experts have separate norms, and the router's
         * factors are scaled.
         */
        BRANCH
    }

    /**
     * The gate of {@link io.multihead.model.FeedForward#clamped}.
     *
     * @param slope the factor of the gate within its sigmoid
     * @param limit the largest gate, and the largest magnitude of up
     */
    record Clamp(double slope, double limit) {}

    /** Parts with recurrent states that replace attention in some layers. */
    sealed interface RecurrentRule {
        /** Returns the layers that have recurrent states. */
        List<Integer> layers();
    }

    /**
     * Linear attention with the gated delta rule.
     *
     * @param heads the numbers and the sizes of heads
     * @param taps the number of tokens of the convolution
     */
    record LinearRule(LinearHeads heads, int taps, List<Integer> layers) implements RecurrentRule {
        LinearRule {
            layers = List.copyOf(layers);
        }
    }

    /**
     * Mamba-2.
     *
     * @param heads the numbers and the sizes of heads
     * @param taps the number of tokens of the convolution
     * @param normParts the number of parts into which results are divided for normalization
     */
    record MambaRule(Mamba2Heads heads, int taps, int normParts, List<Integer> layers) implements RecurrentRule {
        MambaRule {
            layers = List.copyOf(layers);
        }
    }

    /**
     * The settings of embeddings and logits.
     *
     * @param embeddingScale the factor of embeddings
     * @param softCap the largest absolute logit; 0 for none
     * @param head the weights of the head
     * @param logitScale the factor of logits
     */
    record Ends(double embeddingScale, double softCap, Head head, double logitScale) {
        Ends(double embeddingScale, double softCap, Head head) {
            this(embeddingScale, softCap, head, 1);
        }

        /** Unchanged embeddings and logits. */
        static Ends plain(Settings settings) {
            return new Ends(1, 0, Head.of(settings, false));
        }
    }

    /** The location of the head's weights. */
    enum Head {
        /** The file; a file without the head's weights is malformed. */
        OWN,
        /** The embeddings, even if the file has other weights. */
        TIED,
        /** The file, or the embeddings if the file has no weights of the head. */
        ANY;

        /** Reads the file's setting. GGUF files have no such setting; they omit a tied head. */
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

package io.multihead.encoder;

import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How parts of a BERT encoder are named in files: in checkpoints, and in files of packed weights. */
final class BertParts {
    static final String WORDS = "embeddings.word_embeddings.weight";
    static final String POSITIONS = "embeddings.position_embeddings.weight";
    static final String TYPES = "embeddings.token_type_embeddings.weight";
    static final String EMBEDDING_NORM = "embeddings.LayerNorm";

    private static final String WEIGHT = ".weight";
    private static final String BIAS = ".bias";
    private static final String PANELS = ".panels";

    private BertParts() {}

    /** How a linear layer is made of weights. */
    interface LinearReader {
        PackedLinear take(Weights weights, String name, int outputs, int inputs);
    }

    /** Takes a weight of its usual shape, and packs it. */
    static PackedLinear linear(Weights weights, String name, int outputs, int inputs) {
        return linear(weights, name, outputs, inputs, true);
    }

    /** Does the same for a layer that may have no bias. */
    static PackedLinear linear(Weights weights, String name, int outputs, int inputs, boolean hasBias) {
        Tensor weight = weights.take(name + WEIGHT, outputs, inputs);
        PackedLinear packed = linear(weight, hasBias ? weights.take(name + BIAS, outputs) : null);
        weights.release(weight);
        return packed;
    }

    /** Packs a weight {@code [outputs, inputs]}. */
    static PackedLinear linear(Tensor weight, @Nullable Tensor bias) {
        return PackedLinear.of(PackedWeights.of(weight.permute(1, 0)), bias);
    }

    /** Takes panels that {@link #put(PackedLinear, String, Map, Map)} named, and reads them in place. */
    static PackedLinear packedLinear(Weights weights, String name, int outputs, int inputs) {
        return packedLinear(weights, name, outputs, inputs, true);
    }

    /** Does the same for a layer that may have no bias. */
    static PackedLinear packedLinear(Weights weights, String name, int outputs, int inputs, boolean hasBias) {
        Tensor panels = weights.take(name + PANELS, PackedWeights.panelElements(inputs, outputs));
        return Checks.in(
                name,
                () -> PackedLinear.of(
                        PackedWeights.ofPanels(panels, inputs, outputs),
                        hasBias ? weights.take(name + BIAS, outputs) : null));
    }

    static Norm norm(Weights weights, String name, BertConfig config) {
        return Norm.layer(
                weights.take(name + WEIGHT, config.dim()), weights.take(name + BIAS, config.dim()), config.epsilon());
    }

    /** Adds what {@link #packedLinear} takes. */
    static void put(PackedLinear linear, String name, Map<String, Tensor> panels, Map<String, Tensor> others) {
        panels.put(name + PANELS, linear.weights().panels());
        Tensor bias = linear.bias();
        if (bias != null) {
            others.put(name + BIAS, bias);
        }
    }

    /** Adds what {@link #norm} takes. */
    static void put(Norm norm, String name, Map<String, Tensor> to) {
        to.put(name + WEIGHT, Tensor.of(norm.weight()));
        to.put(name + BIAS, Tensor.of(norm.bias()));
    }

    /** Returns the bytes of the bias, an array, and 0 where there is none. */
    static long biasBytes(PackedLinear linear) {
        Tensor bias = linear.bias();
        return bias == null ? 0 : bytes(bias);
    }

    /** Returns the bytes of a layer that are mapped, or those that are not. */
    static long bytes(PackedLinear linear, boolean mapped) {
        return bytes(linear.weights().panels(), mapped) + (mapped ? 0 : biasBytes(linear));
    }

    /** Returns the bytes of a tensor, if {@code mapped} says where it is, else 0. */
    static long bytes(Tensor tensor, boolean mapped) {
        return tensor.memory().isMapped() == mapped ? bytes(tensor) : 0;
    }

    private static long bytes(Tensor tensor) {
        return tensor.shape().elements() * tensor.dtype().bytes();
    }
}

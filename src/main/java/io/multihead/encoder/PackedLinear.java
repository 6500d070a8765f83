package io.multihead.encoder;

import io.multihead.gemm.Activation;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Map;
import java.util.Objects;

/** A linear layer whose weight exists only in packed form. */
record PackedLinear(PackedWeights weights, GemmOptions options) {
    /** Packs a weight {@code [outputs, inputs]}. */
    static PackedLinear of(Tensor weight, Tensor bias) {
        return of(PackedWeights.of(weight.permute(1, 0)), bias);
    }

    private static PackedLinear of(PackedWeights weights, Tensor bias) {
        return new PackedLinear(weights, GemmOptions.DEFAULT.withBias(Tensor.of(bias.toArray())));
    }

    /** Takes a weight of its usual shape, and packs it. */
    static PackedLinear take(Weights weights, String name, int outputs, int inputs) {
        Tensor weight = weights.take(name + ".weight", outputs, inputs);
        PackedLinear packed = of(weight, weights.take(name + ".bias", outputs));
        weights.release(weight);
        return packed;
    }

    /** Takes panels that {@link #put} named, and reads them in place. */
    static PackedLinear takePacked(Weights weights, String name, int outputs, int inputs) {
        Tensor panels = weights.take(name + ".panels", PackedWeights.panelElements(inputs, outputs));
        return Checks.in(
                name, () -> of(PackedWeights.ofPanels(panels, inputs, outputs), weights.take(name + ".bias", outputs)));
    }

    /** Adds what {@link #takePacked} takes. */
    void put(String name, Map<String, Tensor> panels, Map<String, Tensor> others) {
        panels.put(name + ".panels", weights.panels());
        others.put(name + ".bias", bias());
    }

    private Tensor bias() {
        return Objects.requireNonNull(options.bias());
    }

    /** Returns the layer followed by GELU. */
    PackedLinear withGelu() {
        return new PackedLinear(weights, options.withActivation(Activation.GELU));
    }

    /** Returns the bytes of the panels, whose columns are padded to 32, if {@code mapped} says where they are, else 0. */
    long panelBytes(boolean mapped) {
        Tensor panels = weights.panels();
        return panels.memory().isMapped() == mapped ? panels.shape().elements() * Float.BYTES : 0;
    }

    long biasBytes() {
        return bias().shape().elements() * Float.BYTES;
    }
}

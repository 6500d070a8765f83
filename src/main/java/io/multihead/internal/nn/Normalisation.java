package io.multihead.internal.nn;

import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a layer normalisation or an RMS normalisation.
 *
 * @param shape sizes of the last axes, which are normalised together
 * @param epsilon added to the variance or the mean square
 * @param centred whether the mean is subtracted
 * @param weight factors, of that shape; null for 1
 * @param bias addends, of that shape; null for 0
 */
public record Normalisation(
        Shape shape,
        double epsilon,
        boolean centred,
        @Nullable Tensor weight,
        @Nullable Tensor bias) {
    /** Name of the factors among a layer's parameters. */
    public static final String WEIGHT = "weight";

    /** Name of the addends among a layer's parameters. */
    public static final String BIAS = "bias";

    /** Returns a tensor's normalised axes as rows. */
    RowView rows(Tensor tensor) {
        return RowView.of(tensor, shape.rank());
    }
}

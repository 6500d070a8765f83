package io.multihead.internal.nn;

import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a layer normalization or an RMS normalization.
 *
 * @param shape sizes of the last axes, which are normalized together
 * @param epsilon added to the variance or the mean square
 * @param centered whether the mean is subtracted
 * @param weight factors, of that shape; null for 1
 * @param bias addends, of that shape; null for 0
 */
public record Normalization(
        Shape shape,
        double epsilon,
        boolean centered,
        @Nullable Tensor weight,
        @Nullable Tensor bias) {
    /** Name of the factors among a layer's parameters. */
    public static final String WEIGHT = "weight";

    /** Name of the addends among a layer's parameters. */
    public static final String BIAS = "bias";

    /** Returns a tensor's normalized axes as rows. */
    RowView rows(Tensor tensor) {
        return RowView.of(tensor, shape.rank());
    }
}

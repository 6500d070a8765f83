package io.multihead.nn;

import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * Normalization by the root mean square over the last axes (Zhang and Sennrich 2019, "Root mean square layer normalization"),
 * like PyTorch's {@code nn.RMSNorm}: {@code y = x / sqrt(mean(x^2) + epsilon) * weight}.
 *
 * <p>Sums are f32 and overflow as f32 does. Results have the same bits for any number of threads; parameter gradients are
 * summed in a fixed order. Thread safety is as documented in {@link Layer}. The caller owns the parameter.
 */
public final class RmsNorm extends NormLayer {
    private RmsNorm(Shape normalized, double epsilon, @Nullable Tensor weight) {
        super(normalized, epsilon, false, weight, null);
    }

    /**
     * Returns a layer with this parameter.
     *
     * @param normalized sizes of the last axes, which are normalized together
     * @param epsilon added to the mean square; at least 0
     * @param weight a tensor of shape {@code normalized}, any floating-point type and strides; null for 1
     * @return the layer, which reads the tensor and does not own it
     * @throws IllegalArgumentException if a shape, an element type or epsilon does not fit
     */
    public static RmsNorm of(Shape normalized, double epsilon, @Nullable Tensor weight) {
        return new RmsNorm(normalized, epsilon, weight);
    }

    /**
     * {@return a layer with a new f32 parameter, like PyTorch's: weight 1}
     *
     * @param arena owns the parameter; must stay open while the layer is used
     * @param normalized sizes of the last axes, which are normalized together
     * @param epsilon added to the mean square; at least 0
     * @throws IllegalArgumentException if the shape or epsilon does not fit
     */
    public static RmsNorm initialize(Arena arena, Shape normalized, double epsilon) {
        requireSettings(normalized, epsilon);
        return of(normalized, epsilon, InitialTensors.constant(1, normalized, Checks.notNull(arena, "arena")));
    }
}

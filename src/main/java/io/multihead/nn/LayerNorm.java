package io.multihead.nn;

import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.InitialTensors;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * Layer normalization over the last axes (Ba et al. 2016, "Layer normalization"), like PyTorch's {@code nn.LayerNorm}:
 * {@code y = (x - mean) / sqrt(variance + epsilon) * weight + bias} with the biased variance.
 *
 * <p>Sums are f32 and overflow as f32 does. The mean is subtracted in two steps, so it may be much larger than the deviation. A row that
 * holds NaN or infinity becomes NaN, and so does a constant row if epsilon is 0. Results have the same bits for any number of threads;
 * parameter gradients are summed in a fixed order. Thread safety is as documented in {@link Layer}. The caller owns the parameters.
 */
public final class LayerNorm extends NormLayer {
    private LayerNorm(Shape normalized, double epsilon, @Nullable Tensor weight, @Nullable Tensor bias) {
        super(normalized, epsilon, true, weight, bias);
    }

    /**
     * Returns a layer with given parameters.
     *
     * @param normalized sizes of the last axes, which are normalized together
     * @param epsilon added to the variance; at least 0
     * @param weight a tensor of shape {@code normalized}, any floating-point type and strides; null for 1
     * @param bias a tensor of shape {@code normalized}, any floating-point type and strides; null for 0
     * @return the layer, which reads the tensors and does not own them
     * @throws IllegalArgumentException if a shape, an element type or epsilon does not fit
     */
    public static LayerNorm of(Shape normalized, double epsilon, @Nullable Tensor weight, @Nullable Tensor bias) {
        return new LayerNorm(normalized, epsilon, weight, bias);
    }

    /**
     * {@return a layer with new f32 parameters, like PyTorch's: weight 1, bias 0}
     *
     * @param arena owns the parameters; must stay open while the layer is used
     * @param normalized sizes of the last axes, which are normalized together
     * @param epsilon added to the variance; at least 0 (PyTorch's default is 1e-5)
     * @throws IllegalArgumentException if the shape or epsilon does not fit
     */
    public static LayerNorm initialize(Arena arena, Shape normalized, double epsilon) {
        requireSettings(normalized, epsilon);
        Checks.notNull(arena, "arena");
        return of(
                normalized,
                epsilon,
                InitialTensors.constant(1, normalized, arena),
                InitialTensors.constant(0, normalized, arena));
    }
}

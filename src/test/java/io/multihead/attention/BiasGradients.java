package io.multihead.attention;

import io.multihead.internal.attention.mask.MaskPart;
import io.multihead.reference.ReferenceAttentionGradient;
import io.multihead.reference.Tolerance;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** The specification of the gradient of a bias. */
final class BiasGradients {
    private BiasGradients() {}

    /** Returns the first bias of a mask, or null. */
    static @Nullable Tensor biasOf(Mask mask) {
        return mask.parts().stream()
                .filter(MaskPart.Bias.class::isInstance)
                .map(part -> ((MaskPart.Bias) part).tensor())
                .findFirst()
                .orElse(null);
    }

    /**
     * Sums the gradient of scores of shape {@code [batch, heads, queries, keys]} to the shape of a bias. The error bounds are summed, too.
     */
    static ReferenceAttentionGradient.Part sum(
            ReferenceAttentionGradient.Part scores, Tensor bias, long batch, long heads, long queries, long keys) {
        int[] full = {(int) batch, (int) heads, (int) queries, (int) keys};
        int[] own = new int[4];
        for (int axis = 0; axis < 4; axis++) {
            int of = axis - (4 - bias.rank());
            own[axis] = of < 0 ? 1 : (int) bias.dim(of);
        }
        double[] values = new double[(int) bias.shape().elements()];
        double[] bounds = new double[values.length];
        for (int i = 0; i < scores.values().length; i++) {
            int rest = i;
            int at = 0;
            int step = 1;
            for (int axis = 3; axis >= 0; axis--) {
                int index = rest % full[axis];
                rest /= full[axis];
                at += own[axis] == 1 ? 0 : index * step;
                step *= own[axis];
            }
            values[at] += scores.values()[i];
            bounds[at] += scores.errorScale()[i];
        }
        // the sum is kept in f64 and rounded once
        for (int i = 0; i < values.length; i++) {
            bounds[i] += Tolerance.storage(values[i], DType.F32);
        }
        return new ReferenceAttentionGradient.Part(values, bounds);
    }
}

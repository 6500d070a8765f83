package io.multihead.nn;

import io.multihead.attention.Mask;
import io.multihead.internal.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * What one call of {@link MultiHeadAttention} hides, adds and silences. Immutable; tensors are shared. {@link MultiHeadInputs} has
 * a method for each.
 *
 * @param mask any mask over {@code (batch, heads, queries, keys)}
 * @param keyPadding {@code [batch, keys]} or {@code [keys]}: I8 drops the keys where it is not zero, a floating type is
 *     added to their scores; null for none
 * @param scoreMask {@code [queries, keys]} or {@code [batch * heads, queries, keys]}: I8 drops the scores where it is not
 *     zero, a floating type is added to them; null for none
 * @param headMask {@code [heads]} or {@code [batch, heads]}, any floating type: what each head's output is multiplied with
 *     before the output projection (the xi of Michel et al. 2019, equation 1); null for ones
 */
public record MultiHeadMasks(
        Mask mask,
        @Nullable Tensor keyPadding,
        @Nullable Tensor scoreMask,
        @Nullable Tensor headMask) {
    /** No masks. */
    public static final MultiHeadMasks NONE = new MultiHeadMasks(Mask.NONE, null, null, null);

    /** Checks that there is a mask. */
    public MultiHeadMasks {
        Checks.notNull(mask, "mask");
    }
}

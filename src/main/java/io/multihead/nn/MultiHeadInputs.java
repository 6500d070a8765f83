package io.multihead.nn;

import io.multihead.attention.Mask;
import io.multihead.internal.Checks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * What one call of {@link MultiHeadAttention} reads. Immutable; tensors are shared, not copied, and must stay unchanged
 * during the call.
 *
 * <p>Query, key and value are {@code [batch, tokens, features]}, {@code [tokens, batch, features]} when the configuration
 * says so, {@code [tokens, features]} without a batch, or have more axes: then the configuration's attention axes are
 * flattened into tokens, and all others but the last into the batch. Element type and strides are free. In what follows
 * {@code queries} and {@code keys} are numbers of tokens after that.
 *
 * <p>All masks apply together: a key must pass every one, and biases add up. None hides the extra keys of
 * {@link LayerExtras}, which are not part of {@code keys} here.
 *
 * @param query {@code [batch, queries, embedDim]}
 * @param key {@code [batch, keys, keyInputDim]}; the very tensor of the query for self-attention
 * @param value {@code [batch, keys, valueInputDim]}
 * @param masks what hides keys, changes scores and silences heads
 */
public record MultiHeadInputs(Tensor query, Tensor key, Tensor value, MultiHeadMasks masks) {
    /** Checks that there is a query, a key, a value and masks. */
    public MultiHeadInputs {
        Checks.notNull(query, "query");
        Checks.notNull(key, "key");
        Checks.notNull(value, "value");
        Checks.notNull(masks, "masks");
    }

    /**
     * Self-attention without masks.
     *
     * @param x query, key and value in one
     * @return the inputs
     */
    public static MultiHeadInputs of(Tensor x) {
        return of(x, x, x);
    }

    /**
     * Attention of queries to keys and values, without masks.
     *
     * @param query {@code [batch, queries, embedDim]}
     * @param key {@code [batch, keys, keyInputDim]}
     * @param value {@code [batch, keys, valueInputDim]}
     * @return the inputs
     */
    public static MultiHeadInputs of(Tensor query, Tensor key, Tensor value) {
        return new MultiHeadInputs(query, key, value, MultiHeadMasks.NONE);
    }

    /**
     * These inputs with another mask of the attention package: causal, a window, key lengths, or tensors broadcast over
     * {@code (batch, heads, queries, keys)}.
     *
     * @param newMask replaces the former one; {@link Mask#and} combines
     * @return changed inputs
     */
    public MultiHeadInputs withMask(Mask newMask) {
        return with(new MultiHeadMasks(newMask, keyPadding(), scoreMask(), headMask()));
    }

    /**
     * These inputs with padding marked, as PyTorch's {@code key_padding_mask}: an I8 tensor that is not zero where a key
     * is padding, or a floating tensor that is added to the scores of every query.
     *
     * @param padding {@code [batch, keys]} or {@code [keys]}
     * @return changed inputs
     */
    public MultiHeadInputs withKeyPadding(@Nullable Tensor padding) {
        return with(new MultiHeadMasks(mask(), padding, scoreMask(), headMask()));
    }

    /**
     * These inputs with some scores dropped, as PyTorch's boolean {@code attn_mask}. Replaces a score bias.
     *
     * @param drop I8, not zero where a query must not see a key; {@code [queries, keys]} or
     *     {@code [batch * heads, queries, keys]}
     * @return changed inputs
     * @throws IllegalArgumentException if the tensor is not I8
     */
    public MultiHeadInputs withDroppedScores(Tensor drop) {
        if (Checks.notNull(drop, "scoreMask").dtype() != DType.I8) {
            throw Checks.fail("scoreMask", drop.toString(), "expected I8; withScoreBias takes floating types");
        }
        return with(new MultiHeadMasks(mask(), keyPadding(), drop, headMask()));
    }

    /**
     * These inputs with a bias added to the scaled scores, as PyTorch's floating {@code attn_mask}; minus infinity drops.
     * Replaces dropped scores.
     *
     * @param bias any floating type; {@code [queries, keys]} or {@code [batch * heads, queries, keys]}
     * @return changed inputs
     * @throws IllegalArgumentException if the tensor is I8
     */
    public MultiHeadInputs withScoreBias(Tensor bias) {
        if (!Checks.notNull(bias, "scoreMask").dtype().isFloating()) {
            throw Checks.fail("scoreMask", bias.toString(), "expected a floating type; withDroppedScores takes I8");
        }
        return with(new MultiHeadMasks(mask(), keyPadding(), bias, headMask()));
    }

    /**
     * These inputs with every head's output multiplied with a factor: 0 silences a head.
     *
     * @param factors {@code [heads]} or {@code [batch, heads]}, any floating type
     * @return changed inputs
     * @throws IllegalArgumentException if the tensor is I8
     */
    public MultiHeadInputs withHeadMask(Tensor factors) {
        if (!Checks.notNull(factors, "headMask").dtype().isFloating()) {
            throw Checks.fail("headMask", factors.toString(), "expected a floating type");
        }
        return with(new MultiHeadMasks(mask(), keyPadding(), scoreMask(), factors));
    }

    /**
     * The mask over (batch, heads, queries, keys).
     *
     * @return the mask, perhaps {@link Mask#NONE}
     */
    public Mask mask() {
        return masks.mask();
    }

    /**
     * The key padding.
     *
     * @return the tensor, or null
     */
    public @Nullable Tensor keyPadding() {
        return masks.keyPadding();
    }

    /**
     * The score mask or bias.
     *
     * @return the tensor, or null
     */
    public @Nullable Tensor scoreMask() {
        return masks.scoreMask();
    }

    /**
     * The factors of the heads.
     *
     * @return the tensor, or null
     */
    public @Nullable Tensor headMask() {
        return masks.headMask();
    }

    private MultiHeadInputs with(MultiHeadMasks changed) {
        return new MultiHeadInputs(query, key, value, changed);
    }
}

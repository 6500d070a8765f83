package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The inputs of one call of {@link MultiHeadAttention}. Immutable; tensors are shared, not copied, and must stay unchanged during the call.
 *
 * <p>Query, key and value are {@code [batch, tokens, features]}, {@code [tokens, batch, features]} if the configuration is not batch-first,
 * {@code [tokens, features]} without a batch, or have more axes. In the last case, the configuration's attention axes are flattened into tokens,
 * and all other axes except the last into the batch. Element types are floating-point, and strides are arbitrary. Below, {@code queries} and
 * {@code keys} are the numbers of tokens after this flattening.
 *
 * <p>Sequences of different lengths are packed one after another in one batch, {@code [tokens, features]}, and divided by
 * {@link #withSequences(PackedSequences)}.
 *
 * @param query {@code [batch, queries, embedDim]}
 * @param key {@code [batch, keys, keyInputDim]}; the same tensor object as the query for self-attention
 * @param value {@code [batch, keys, valueInputDim]}
 * @param mask over (batch, queryHeads, queries, keys)
 * @param headMask factors of the heads' outputs, {@code [heads]} or {@code [batch, heads]}, any floating-point type; null for ones
 * @param sequences boundaries of packed sequences; null for a batch of sequences of one length
 */
public record MultiHeadInputs(
        Tensor query,
        Tensor key,
        Tensor value,
        Mask mask,
        @Nullable Tensor headMask,
        @Nullable Sequences sequences) {
    /**
     * Checks that the required parts are present, and the head mask's type.
     *
     * @throws IllegalArgumentException if the head mask is I8
     */
    public MultiHeadInputs {
        Checks.notNull(query, "query");
        Checks.notNull(key, "key");
        Checks.notNull(value, "value");
        Checks.notNull(mask, "mask");
        if (headMask != null) {
            TensorChecks.requireFloating(headMask, "headMask");
        }
    }

    /**
     * The boundaries of packed sequences.
     *
     * @param queries the boundaries of the sequences in the query
     * @param keys the boundaries of the sequences in key and value; the same number of sequences
     */
    public record Sequences(PackedSequences queries, PackedSequences keys) {
        /**
         * Checks that both are present and have the same number of sequences.
         *
         * @throws IllegalArgumentException if the numbers of sequences differ
         */
        public Sequences {
            int count = Checks.notNull(queries, "queries").count();
            if (Checks.notNull(keys, "keys").count() != count) {
                throw Checks.fail("keys", keys.count() + " sequences", "expected " + count + ", as queries has");
            }
        }
    }

    /**
     * {@return the inputs of self-attention without masks}
     *
     * @param x the tensor that is query, key and value
     */
    public static MultiHeadInputs of(Tensor x) {
        return of(x, x, x);
    }

    /**
     * {@return the inputs of cross-attention without masks, of queries to one tensor of keys and values}
     *
     * @param query {@code [batch, queries, embedDim]}
     * @param memory {@code [batch, keys, keyInputDim]}: the tensor that is key and value
     */
    public static MultiHeadInputs of(Tensor query, Tensor memory) {
        return of(query, memory, memory);
    }

    /**
     * {@return the inputs of attention of queries to keys and values, without masks}
     *
     * @param query {@code [batch, queries, embedDim]}
     * @param key {@code [batch, keys, keyInputDim]}; the same tensor object as the query for
     *     self-attention
     * @param value {@code [batch, keys, valueInputDim]}
     */
    public static MultiHeadInputs of(Tensor query, Tensor key, Tensor value) {
        return new MultiHeadInputs(query, key, value, Mask.NONE, null, null);
    }

    /**
     * {@return these inputs with a mask over {@code (batch, queryHeads, queries, keys)}, which applies together with the configuration's
     * mask}. It does not hide the extra keys of {@link MultiHeadConfig#withKeyValueBias} and {@link MultiHeadConfig#withZeroKey}, which are
     * not part of {@code keys} here.
     *
     * @param newMask replaces the previous value; {@link Mask#and} combines. {@link Mask#keyPadding} is PyTorch's boolean
     *     {@code key_padding_mask}, {@link Mask#drop} its boolean {@code attn_mask}, {@link Mask#bias} its floating one
     */
    public MultiHeadInputs withMask(Mask newMask) {
        return new MultiHeadInputs(query, key, value, newMask, headMask, sequences);
    }

    /**
     * {@return these inputs with every head's output multiplied by a factor before the output projection (the xi of Michel et al. 2019,
     * equation 1): 0 silences a head}
     *
     * @param factors {@code [heads]} or {@code [batch, heads]}, any floating-point type
     * @throws IllegalArgumentException if the tensor is I8
     */
    public MultiHeadInputs withHeadMask(Tensor factors) {
        return new MultiHeadInputs(query, key, value, mask, Checks.notNull(factors, "headMask"), sequences);
    }

    /**
     * {@return these inputs as packed sequences of self-attention; see the other method}
     *
     * @param tokens the boundaries of the sequences in query, key and value
     */
    public MultiHeadInputs withSequences(PackedSequences tokens) {
        return withSequences(tokens, tokens);
    }

    /**
     * {@return these inputs as packed sequences: queries of sequence s attend only to the keys of sequence s, and masks are aligned to
     * each sequence separately}. The batch axis then has size 1. Tensors of a mask have no axis of queries, and {@link
     * PackedSequences#maxLength} keys or 1. The weights have {@link PackedSequences#maxLength} keys, too. A recorded call does not allow
     * tensors in its mask.
     *
     * @param queries the boundaries of the sequences in the query
     * @param keys the boundaries of the sequences in key and value; the same number of sequences
     * @throws IllegalArgumentException if the numbers of sequences differ
     */
    public MultiHeadInputs withSequences(PackedSequences queries, PackedSequences keys) {
        return new MultiHeadInputs(query, key, value, mask, headMask, new Sequences(queries, keys));
    }

    /** Returns these inputs with another query, such as a normalized one. */
    MultiHeadInputs withQuery(Tensor changed) {
        return new MultiHeadInputs(changed, key, value, mask, headMask, sequences);
    }
}

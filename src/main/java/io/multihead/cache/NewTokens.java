package io.multihead.cache;

import io.multihead.attention.PackedSequences;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Tokens to append to a {@link KeyValueCache}: keys and values, and, if they differ from the default, the sequence of each
 * token and the positions of keys. The caller owns tensors and positions; they are read only during the call.
 *
 * @param key {@code [sequences, heads, tokens, headDim]}, any strides and element type; {@code [1, heads, tokens, headDim]} if
 *     sequences are packed
 * @param value values with the same batches, heads and tokens as the keys, {@code valueDim} elements each
 * @param sequences the boundaries of the sequences among the tokens; null for the same number of tokens of each sequence
 * @param positions the position to which the rope of the cache rotates each key, row-major: {@code [tokens]}, {@code [sequences, tokens]}
 *     or, for a rope with sections, {@code [streams, sequences, tokens]}. If sequences are packed, the size of the axis of sequences is 1.
 *     Null for the index of each token in its sequence
 */
@SuppressWarnings("ArrayRecordComponent") // positions change at every step and are only passed on
public record NewTokens(Tensor key, Tensor value, @Nullable PackedSequences sequences, long @Nullable [] positions) {
    /** Checks that keys and values are present. */
    public NewTokens {
        Checks.notNull(key, "key");
        Checks.notNull(value, "value");
    }

    /**
     * {@return tokens that are not packed, the same number for each sequence, with keys that are rotated to their index in the sequence}
     *
     * @param key {@code [sequences, heads, tokens, headDim]}
     * @param value {@code [sequences, heads, tokens, valueDim]}
     */
    public static NewTokens of(Tensor key, Tensor value) {
        return new NewTokens(key, value, null, null);
    }

    /**
     * {@return these tokens as packed sequences}
     *
     * @param newSequences the boundaries of the sequences among the tokens
     */
    public NewTokens withSequences(PackedSequences newSequences) {
        return new NewTokens(key, value, Checks.notNull(newSequences, "sequences"), positions);
    }

    /**
     * {@return these tokens with keys that are rotated to given positions}. Masks and windows of attention still use the index of a token
     * in its sequence.
     *
     * @param newPositions {@code [tokens]}, {@code [sequences, tokens]} or {@code [streams, sequences, tokens]}; not copied
     */
    public NewTokens withPositions(long... newPositions) {
        return new NewTokens(key, value, sequences, Checks.notNull(newPositions, "positions"));
    }
}

package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * Keys and values of a batch of sequences, which may differ in length, wherever they lie: tensors, packed sequences, pages,
 * or a cache of {@code io.multihead.cache}. Read by several threads at once while attention runs; must not change then.
 *
 * <p>The factories cover memory of the caller's. Other storages implement {@link #locate}.
 */
public interface KeyValueView {
    /**
     * Number of sequences.
     *
     * @return at least 0
     */
    int sequences();

    /**
     * Number of key/value heads.
     *
     * @return at least 0
     */
    int heads();

    /**
     * Elements of a key.
     *
     * @return at least 0
     */
    int headDim();

    /**
     * Elements of a value.
     *
     * @return at least 0
     */
    int valueDim();

    /**
     * Number of keys of a sequence, those before {@link #firstKey} included: the position of its next token.
     *
     * @param sequence from 0
     * @return at least 0
     */
    long keys(int sequence);

    /**
     * Returns the size of the key axis that tensors of a mask and weights have: a sequence with fewer keys uses the first part
     * of it, and its weights beyond are 0.
     *
     * @return the most {@link #keys} of a sequence, or more
     */
    default long maxKeys() {
        long most = 0;
        for (int sequence = 0; sequence < sequences(); sequence++) {
            most = Math.max(most, keys(sequence));
        }
        return most;
    }

    /**
     * The first key that still exists.
     *
     * @param sequence from 0
     * @return 0 unless older keys were given up
     */
    default long firstKey(int sequence) {
        return 0;
    }

    /**
     * Says where a key and its value lie, and those that follow.
     *
     * @param sequence from 0
     * @param head key/value head, from 0
     * @param key a multiple of {@link KeyValuePage#LEAST_KEYS}, or the first key after a page that was located before
     * @param page is told
     */
    void locate(int sequence, int head, long key, KeyValuePage page);

    /**
     * Fails if the threads cannot read the memory, or if a tensor that will be written overlaps it.
     *
     * @param cpu whose threads read
     * @param written a result of the call
     * @param argument its name
     * @throws IllegalArgumentException if so
     */
    void requireUsable(Compute cpu, Tensor written, String argument);

    /**
     * Tensors as they are; every sequence has all keys.
     *
     * @param key {@code [sequences, keyHeads, keys, headDim]}, any strides and element type
     * @param value {@code [sequences, keyHeads, keys, valueDim]}
     * @return a view of their memory
     * @throws IllegalArgumentException if the shapes do not fit
     */
    static KeyValueView of(Tensor key, Tensor value) {
        return new TensorKeyValues(key, value);
    }

    /**
     * Views a static cache: tensors of a fixed number of tokens, of which each sequence has used the first. What is beyond a
     * length, even NaN, does not exist, and masks are aligned to the lengths. {@link #maxKeys} is {@code maxTokens}, so a mask
     * over keys, or weights, keep their shape from step to step. The caller owns the memory and may write tokens to it between
     * calls of attention; a new length takes a new view, which is cheap.
     *
     * @param key {@code [sequences, keyHeads, maxTokens, headDim]}, any strides and element type
     * @param value {@code [sequences, keyHeads, maxTokens, valueDim]}
     * @param lengths how many tokens each sequence has, one per sequence; copied
     * @return a view of their memory
     * @throws IllegalArgumentException if the shapes do not fit, or the lengths are not one per sequence from 0 to maxTokens
     */
    static KeyValueView of(Tensor key, Tensor value, long... lengths) {
        AttentionChecks.requireLengths(lengths, key);
        return TensorKeyValues.ofLengths(key, value, lengths.clone());
    }

    /**
     * Sequences packed one after another, as {@code cu_seqlens} of FlashAttention describes them.
     *
     * @param key {@code [1, keyHeads, tokens, headDim]}, any strides and element type
     * @param value {@code [1, keyHeads, tokens, valueDim]}
     * @param offsets where each sequence starts, and where the last one ends
     * @return a view of their memory
     * @throws IllegalArgumentException if the shapes do not fit, or the offsets fall or leave the tokens
     */
    static KeyValueView packed(Tensor key, Tensor value, long... offsets) {
        AttentionChecks.requirePacked(offsets, key, "key");
        return TensorKeyValues.packed(key, value, offsets.clone());
    }

    /**
     * One sequence in pages of equal size, such as direct buffers or mapped files.
     *
     * @param keys one {@code [keyHeads, pageTokens, headDim]} per page, any strides and element types
     * @param values one {@code [keyHeads, pageTokens, valueDim]} per page
     * @param tokens how many tokens the pages hold; the rest of the last page does not exist
     * @return a view of their memory
     * @throws IllegalArgumentException if the shapes do not fit or their sizes other than tokens exceed an {@code int}, or the
     *     pages hold fewer tokens
     */
    static KeyValueView pages(List<Tensor> keys, List<Tensor> values, long tokens) {
        return new PagedKeyValues(keys, values, tokens);
    }
}

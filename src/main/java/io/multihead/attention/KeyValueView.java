package io.multihead.attention;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.forward.SplitStates;
import io.multihead.internal.attention.keyvalue.KeyValueAccess;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.keyvalue.PagedKeyValues;
import io.multihead.internal.attention.keyvalue.ShardKeyValues;
import io.multihead.internal.attention.keyvalue.TensorKeyValues;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * Keys and values of a batch of sequences, which may differ in length. They may be stored in tensors, packed sequences, pages, or a cache
 * of {@code io.multihead.cache}. Immutable. Several threads read the viewed memory while attention runs, so the memory must not change
 * during that time.
 */
public final class KeyValueView {
    static {
        KeyValueAccess.registerViews(KeyValueView::new);
    }

    private final KeyValueSource source;

    private KeyValueView(KeyValueSource source) {
        this.source = source;
    }

    KeyValueSource source() {
        return source;
    }

    /** {@return the number of sequences} */
    public int sequences() {
        return source.sequences();
    }

    /** {@return the number of key/value heads} */
    public int heads() {
        return source.heads();
    }

    /** {@return the elements of a key} */
    public int headDim() {
        return source.headDim();
    }

    /** {@return the elements of a value} */
    public int valueDim() {
        return source.valueDim();
    }

    /**
     * Returns the number of keys of a sequence, including the keys before {@link #firstKey}: the position of its next
     * token.
     *
     * @param sequence from 0
     * @return at least 0
     */
    public long keys(int sequence) {
        return source.keys((int) Checks.index(sequence, source.sequences(), "sequence"));
    }

    /**
     * {@return the size of the key axis of mask tensors and weights, at least the largest {@link #keys} of a sequence}. A sequence with
     * fewer keys uses the first part of the axis, and its other weights are 0.
     */
    public long maxKeys() {
        return source.maxKeys();
    }

    /**
     * Returns the first key that still exists.
     *
     * @param sequence from 0
     * @return 0 unless older keys were dropped
     */
    public long firstKey(int sequence) {
        return source.firstKey((int) Checks.index(sequence, source.sequences(), "sequence"));
    }

    /**
     * {@return these keys and values as a shard of longer sequences, whose earlier keys are stored elsewhere}. Key 0 of this view is key
     * {@code firstKey} of every sequence. Therefore {@link #keys} and {@link #maxKeys} of the shard include the earlier keys, and positions
     * of keys, tensors of a mask, weights and dropout are relative to the whole sequence. The keys before the shard are neither read nor
     * visible, and the keys after it do not exist. Attention over a shard is attention over its part of the keys; merge the results with
     * {@link AttentionSplits} or {@link AttentionState#merge}. Causal masks, windows and linear biases then need {@link Mask#queryOffset},
     * since bottom-right alignment would take the end of the shard for the end of the sequence. Weights, scores and scratch memory have
     * columns for the keys before the shard, too.
     *
     * @param firstKey a multiple of {@link AttentionSplits#SPLIT_KEYS}, at most 2^34
     * @throws IllegalArgumentException if the position is not such a multiple, or above 2^34
     * @throws IllegalStateException if this view is a shard already
     */
    public KeyValueView shard(long firstKey) {
        if (firstKey < 0 || firstKey % AttentionBlocking.KEY_SPLIT != 0 || firstKey > SplitStates.MAX_KEYS) {
            throw Checks.fail(
                    "firstKey",
                    String.valueOf(firstKey),
                    "expected a multiple of " + AttentionBlocking.KEY_SPLIT + " from 0 to " + SplitStates.MAX_KEYS);
        }
        if (source instanceof ShardKeyValues) {
            throw new IllegalStateException(
                    "keyValues: a shard from key " + source.start() + "; expected whole sequences");
        }
        return new KeyValueView(new ShardKeyValues(source, firstKey));
    }

    /**
     * Views whole tensors; every sequence has all keys.
     *
     * @param key {@code [sequences, keyValueHeads, keys, headDim]}, any strides and element type
     * @param value {@code [sequences, keyValueHeads, keys, valueDim]}
     * @return a view of their memory
     * @throws IllegalArgumentException if the shapes do not fit
     */
    public static KeyValueView of(Tensor key, Tensor value) {
        AttentionChecks.requireKeyValues(key, value);
        return new KeyValueView(new TensorKeyValues(key, value));
    }

    /**
     * Views a static cache: tensors of a fixed number of tokens. Each sequence uses the first tokens. Elements beyond the length of a
     * sequence are never read, and masks are aligned to the lengths. {@link #maxKeys} is {@code maxTokens}, so masks over keys and weights
     * keep their shape from step to step. The caller owns the memory and may write tokens to it between calls of attention; a new length
     * needs a new view, which is cheap to make.
     *
     * @param key {@code [sequences, keyValueHeads, maxTokens, headDim]}, any strides and element type
     * @param value {@code [sequences, keyValueHeads, maxTokens, valueDim]}
     * @param lengths the number of tokens of each sequence; copied
     * @return a view of their memory
     * @throws IllegalArgumentException if the shapes do not fit, there is not one length per sequence, or a length is not from 0 to
     *     maxTokens
     */
    public static KeyValueView of(Tensor key, Tensor value, long... lengths) {
        AttentionChecks.requireLengths(lengths, key);
        AttentionChecks.requireKeyValues(key, value);
        return new KeyValueView(TensorKeyValues.ofLengths(key, value, lengths.clone()));
    }

    /**
     * Views sequences that are packed along the token axis.
     *
     * @param key {@code [1, keyValueHeads, tokens, headDim]}, any strides and element type
     * @param value {@code [1, keyValueHeads, tokens, valueDim]}
     * @param sequences the boundaries of the sequences among the tokens
     * @return a view of their memory
     * @throws IllegalArgumentException if the shapes do not fit, or the sequences and the tensors have
     * different numbers of tokens
     */
    public static KeyValueView packed(Tensor key, Tensor value, PackedSequences sequences) {
        AttentionChecks.requirePacked(sequences, "sequences", key, "key");
        AttentionChecks.requireKeyValues(key, value);
        return new KeyValueView(TensorKeyValues.packed(key, value, sequences.sharedOffsets()));
    }

    /**
     * Views one sequence in pages of equal size, such as direct buffers or mapped files.
     *
     * @param keys one {@code [keyValueHeads, pageTokens, headDim]} per page, any strides and element types
     * @param values one {@code [keyValueHeads, pageTokens, valueDim]} per page
     * @param tokens the number of tokens in the pages; the rest of the last page does not exist
     * @return a view of their memory
     * @throws IllegalArgumentException if the shapes do not fit or their sizes other than tokens exceed an {@code int}, or the
     *     pages hold fewer tokens
     */
    public static KeyValueView pages(List<Tensor> keys, List<Tensor> values, long tokens) {
        return new KeyValueView(new PagedKeyValues(keys, values, tokens));
    }
}

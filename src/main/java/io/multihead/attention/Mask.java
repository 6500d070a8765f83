package io.multihead.attention;

import io.multihead.internal.attention.mask.MaskPart;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.stream.Stream;

/**
 * The keys that each query may attend to (that it "sees"), and biases of its scores. Immutable; tensors given to it are shared, not copied, and must
 * stay unchanged while attention runs.
 *
 * <p>Polarity is in the name: where the tensor is not zero, {@link #keep} keeps a key and {@link #drop} drops a key. Masks combine with
 * {@link #and}: a key must pass all of them, and biases add up. A masked key is treated as absent: no element of the key or of its value
 * affects the output, even if the element is NaN. A bias of a masked key has no effect. A query that sees no key has output 0, weights 0
 * and log-sum-exp minus infinity, or the log-sum-exp of its sink.
 *
 * <p><b>Positions.</b> {@link #CAUSAL}, {@link #window} and the linear biases of {@link ScoreOptions} compare the position of a key, its
 * index, with the position of the query. Queries are aligned bottom-right: the last query is at the position of the last key that exists,
 * so query {@code i} of {@code Lq} is at position {@code i + L - Lq}. Here {@code L} is the number of keys of its sequence: the key length
 * if {@link #keyLengths} are given, otherwise the number of keys of the tensor, the view or the cache. The order in which masks are
 * combined does not matter. With 2 queries, 6 keys and {@code CAUSAL.and(keyLengths(4))} (x is seen, - is hidden, and keys 4 and 5 do not
 * exist):
 *
 * <pre>
 *              key  0 1 2 3 4 5
 * query 0, at 2     x x x - . .
 * query 1, at 3     x x x x . .
 * </pre>
 *
 * <p>A tensor that hides the last keys does not change positions. {@link #queryOffset} gives positions explicitly.
 *
 * <p>Every tensor of a mask broadcasts, aligned from the right, over {@code (batch, queryHeads, queries, keys)}: three axes are
 * (queryHeads, queries, keys), so a mask of (batch, queries, keys) is given as {@code mask.reshape(batch, 1, queries, keys)}.
 */
public final class Mask {
    /** Every query sees every key. */
    public static final Mask NONE = new Mask(List.of());

    /**
     * Causal: a query at position p sees the keys {@code j <= p}. Queries are aligned bottom-right (see above), as a cache needs: the last query sees
     * every key. A query before position 0 sees no key.
     */
    public static final Mask CAUSAL = of(new MaskPart.Causal());

    /**
     * Causal, aligned top-left like {@code is_causal} of PyTorch's {@code scaled_dot_product_attention}: query {@code i} sees the keys
     * {@code j <= i}, for any number of keys. A window that is combined with it is aligned bottom-right unless {@code queryOffset(0)} is
     * combined with both.
     */
    public static final Mask CAUSAL_TOP_LEFT = of(new MaskPart.CausalTopLeft());

    private final List<MaskPart> parts;

    private Mask(List<MaskPart> parts) {
        this.parts = parts;
    }

    /**
     * {@return a mask that keeps a score where the tensor is not zero, like a boolean {@code attn_mask} of PyTorch's
     * {@code scaled_dot_product_attention}}
     *
     * @param tensor I8, broadcast over (batch, queryHeads, queries, keys)
     * @throws IllegalArgumentException if the tensor is not I8 or has more than four axes
     */
    public static Mask keep(Tensor tensor) {
        return of(new MaskPart.Keep(requireFlags(tensor)));
    }

    /**
     * {@return a mask that drops a score where the tensor is not zero, like the boolean masks of PyTorch's {@code nn.MultiheadAttention}}
     *
     * @param tensor I8, broadcast over (batch, queryHeads, queries, keys)
     * @throws IllegalArgumentException if the tensor is not I8 or has more than four axes
     */
    public static Mask drop(Tensor tensor) {
        return of(new MaskPart.Drop(requireFlags(tensor)));
    }

    /**
     * {@return a mask that adds a tensor to the scaled scores; minus infinity drops a key}
     *
     * @param tensor any floating-point type, broadcast over (batch, queryHeads, queries, keys)
     * @throws IllegalArgumentException if the tensor is I8 or has more than four axes
     */
    public static Mask bias(Tensor tensor) {
        if (!Checks.notNull(tensor, "bias").dtype().isFloating()) {
            throw Checks.fail(
                    "bias", tensor.toString(), "expected a floating-point element type; keep or drop take I8");
        }
        return of(new MaskPart.Bias(requireRank(tensor, "bias")));
    }

    /**
     * {@return a mask for key padding: batch {@code b} has {@code lengths[b]} keys, and the rest of its keys do not exist}. The sequence
     * ends after the existing keys, and the last query has the position of the last existing key (see above).
     *
     * @param lengths one per batch, or a single one for all
     * @throws IllegalArgumentException if a length is negative
     */
    public static Mask keyLengths(long... lengths) {
        for (long length : Checks.notNull(lengths, "keyLengths")) {
            Checks.atLeast(length, 0, "keyLengths");
        }
        return of(new MaskPart.KeyLengths(lengths.clone()));
    }

    /**
     * {@return a mask for sequences whose queries and keys are padded at the end, like the prompts of a batch}. Batch {@code b} has {@code
     * lengths[b]} tokens from 0 on, and query {@code i} is at position {@code i}. The mask is {@code
     * keyLengths(lengths).and(queryOffset(0))}. {@link #keyLengths} alone treats the last query as the last token, but in a padded sequence
     * that query is padding: with {@link #CAUSAL} the first queries then see no key. Outputs of padded queries are arbitrary, but finite
     * for finite inputs.
     *
     * @param lengths one per batch, or a single one for all
     * @throws IllegalArgumentException if a length is negative
     */
    public static Mask rightPadded(long... lengths) {
        return keyLengths(lengths).and(queryOffset(0));
    }

    /**
     * Returns a mask that hides the keys that are padding, like a boolean {@code key_padding_mask} of PyTorch's {@code
     * nn.MultiheadAttention}. The keys still exist: unlike {@link #keyLengths}, this mask does not change positions. For a
     * floating-point padding that is added to the scores, use {@code Mask.bias(padding.reshape(batch, 1, 1, keys))}.
     *
     * @param padding I8, not zero where a key is padding; {@code [batch, keys]}, or {@code [keys]} for the whole batch
     * @return the mask, which shares the memory
     * @throws IllegalArgumentException if the tensor is not I8 or has other axes
     */
    public static Mask keyPadding(Tensor padding) {
        if (Checks.notNull(padding, "keyPadding").dtype() != DType.I8 || padding.rank() < 1 || padding.rank() > 2) {
            throw Checks.fail("keyPadding", padding.toString(), "expected I8 of [batch, keys] or [keys]");
        }
        return drop(padding.rank() == 1 ? padding : padding.reshape(padding.dim(0), 1, 1, padding.dim(1)));
    }

    /**
     * {@return a sliding window: a query at position p (see above) sees the keys {@code p - left} to {@code p + right}, both included}. A
     * model's window of W tokens, which includes the query's own, is {@code window(W - 1, 0)}.
     *
     * @param left the number of keys before its own that a query sees, at least 0; 2^60 and above, such as {@link Long#MAX_VALUE}, mean all
     * @param right the number of keys after its own that a query sees, at least 0; 2^60 and above, such as {@link Long#MAX_VALUE}, mean all
     * @throws IllegalArgumentException if a side is negative
     */
    public static Mask window(long left, long right) {
        requireSide(left, "left");
        requireSide(right, "right");
        return of(new MaskPart.Window(left, right));
    }

    /**
     * Returns a mask that sets the positions of the queries: query {@code i} of batch {@code b} is at position {@code i + offsets[b]}, instead of
     * bottom-right. It hides no key on its own. {@link #CAUSAL}, {@link #window} and linear biases that are combined with it, in any order,
     * use these positions, in any tensor, view or cache. The offset of a prompt is the number of tokens before it ({@code
     * past_sequence_length} of the ONNX operator Attention); 0 is top-left alignment. Key lengths then hide keys, and do not move the
     * queries. A query may be before the first key, or after the last.
     *
     * <pre>
     * CAUSAL.and(queryOffset(1))           window(1, 0).and(queryOffset(0))
     *
     *              key  0 1 2 3 4                    key  0 1 2
     * query 0, at 1     x x - - -       query 0, at 0     x - -
     * query 1, at 2     x x x - -       query 1, at 1     x x -
     * query 2, at 3     x x x x -       query 2, at 2     - x x
     *                                   query 3, at 3     - - x
     * </pre>
     *
     * <p>A mask has one offset. Attention refuses two different offsets, and {@link #CAUSAL_TOP_LEFT} with an offset other
     * than 0.
     *
     * @param offsets position of the first query, one per batch or sequence, or a single one for all; may be negative
     * @return the mask
     * @throws IllegalArgumentException if the absolute value of an offset exceeds 2^60
     */
    public static Mask queryOffset(long... offsets) {
        for (long offset : Checks.notNull(offsets, "queryOffset")) {
            if (offset < -MaskPart.MAX_OFFSET || offset > MaskPart.MAX_OFFSET) {
                throw Checks.fail(
                        "queryOffset",
                        String.valueOf(offset),
                        "expected " + -MaskPart.MAX_OFFSET + " to " + MaskPart.MAX_OFFSET);
            }
        }
        return of(new MaskPart.QueryOffset(offsets.clone()));
    }

    /**
     * {@return a block-sparse mask: blocks of scores that are not kept do not exist, and tiles that consist of such blocks are skipped}
     *
     * @param kept I8, broadcast over (batch, queryHeads, ceil(queries / blockSize), ceil(keys / blockSize)); a block is kept if its element
     *     is not zero
     * @param blockSize queries and keys of one block, a multiple of 32 up to 256 that divides 256
     * @throws IllegalArgumentException if the tensor is not I8, has more than four axes, or the size is not such a multiple
     */
    public static Mask blocks(Tensor kept, int blockSize) {
        if (blockSize < 32 || Integer.bitCount(blockSize) != 1 || blockSize > 256) {
            throw Checks.fail("blockSize", String.valueOf(blockSize), "expected 32, 64, 128 or 256");
        }
        return of(new MaskPart.Blocks(requireFlags(kept), blockSize));
    }

    /**
     * {@return the combination of both masks: a key must pass both, biases add up}. A mask may have one block-sparse part: attention
     * refuses two different block-sparse parts.
     *
     * @param other another mask
     */
    public Mask and(Mask other) {
        Checks.notNull(other, "other");
        if (parts.isEmpty()) {
            return other;
        }
        if (other.parts.isEmpty()) {
            return this;
        }
        // a part that is given twice, such as CAUSAL, is applied once, but biases add up
        return new Mask(Stream.concat(
                        parts.stream(),
                        other.parts.stream().filter(part -> part instanceof MaskPart.Bias || !parts.contains(part)))
                .toList());
    }

    /**
     * {@return the tensors that this mask reads; an unmodifiable list of the tensors, or of views of them}. They must be alive during a
     * call, and must not overlap its outputs.
     */
    public List<Tensor> tensors() {
        if (parts.isEmpty()) {
            return List.of();
        }
        return parts.stream()
                .filter(MaskPart.TensorPart.class::isInstance)
                .map(part -> ((MaskPart.TensorPart) part).tensor())
                .toList();
    }

    /**
     * {@return whether all sequences of a batch have the same mask: no part has a tensor with a batch axis of several elements, or several
     * key lengths or query offsets}. Then a slice of a batch can be computed with this mask.
     */
    public boolean isSharedByBatch() {
        return parts.stream().allMatch(MaskPart::isSharedByBatch);
    }

    /**
     * Returns this mask for one sequence of a batch: with its slice of tensors, its key length and its query offset.
     *
     * @param index the number of the sequence, from 0
     * @param count the number of sequences of the batch
     * @return the mask, which shares the memory
     * @throws IllegalArgumentException if a part is for another number of sequences, or there is no such sequence
     */
    public Mask ofSequence(int index, int count) {
        Checks.index(index, count, "index");
        for (MaskPart part : parts) {
            if (part.sequences() != 1 && part.sequences() != count) {
                throw Checks.fail(
                        "mask", "for " + part.sequences() + " sequences", "expected 1 or one per batch of " + count);
            }
        }
        return new Mask(parts.stream().map(part -> part.ofSequence(index)).toList());
    }

    /** Fails unless every tensor with an axis of heads has these heads. */
    void requireHeads(int... heads) {
        for (MaskPart part : parts) {
            for (int head : part.hasHeads() ? heads : new int[0]) {
                Checks.index(head, part.heads(), "heads");
            }
        }
    }

    /** Returns this mask for some of the query heads, with copies of the tensors that have an axis of heads. */
    Mask selectHeads(Arena arena, int... heads) {
        return new Mask(parts.stream()
                .map(part -> part.hasHeads() ? part.selectHeads(arena, heads) : part)
                .toList());
    }

    /** Returns whether the positions of queries depend on the end of the sequence. */
    boolean alignsToEnd(boolean hasSlopes) {
        boolean measures = hasSlopes;
        for (int i = 0; i < parts.size(); i++) {
            MaskPart part = parts.get(i);
            if (part instanceof MaskPart.QueryOffset) {
                return false;
            }
            measures |= part instanceof MaskPart.Causal || part instanceof MaskPart.Window;
        }
        return measures;
    }

    /**
     * Returns the largest number of keys before its own that a query sees, if queries are the last tokens of their sequences.
     *
     * @return the smallest of all windows; {@link Long#MAX_VALUE} without a window, and where {@link #queryOffset} or {@link #keyLengths}
     * move queries
     */
    public long keysBefore() {
        long least = Long.MAX_VALUE;
        for (MaskPart part : parts) {
            switch (part) {
                case MaskPart.Window(long left, long _) -> least = Math.min(least, left);
                case MaskPart.QueryOffset _, MaskPart.KeyLengths _ -> {
                    return Long.MAX_VALUE;
                }
                default -> {}
            }
        }
        return least;
    }

    List<MaskPart> parts() {
        return parts;
    }

    private static Mask of(MaskPart part) {
        return new Mask(List.of(part));
    }

    private static void requireSide(long side, String argument) {
        if (side < 0) {
            throw Checks.fail(
                    argument, String.valueOf(side), "expected at least 0, or Long.MAX_VALUE for an unbounded window");
        }
    }

    private static Tensor requireFlags(Tensor tensor) {
        if (Checks.notNull(tensor, "mask").dtype() != DType.I8) {
            throw Checks.fail("mask", tensor.toString(), "expected I8, not zero for true");
        }
        return requireRank(tensor, "mask");
    }

    private static Tensor requireRank(Tensor tensor, String name) {
        if (tensor.rank() > 4) {
            throw Checks.fail(name, tensor.toString(), "expected at most (batch, heads, queries, keys)");
        }
        return tensor;
    }
}

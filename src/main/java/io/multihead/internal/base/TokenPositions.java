package io.multihead.internal.base;

import org.jspecify.annotations.Nullable;

/**
 * Positions of the tokens of one call, as an array {@code [tokens]}, {@code [batch, tokens]} or {@code [streams, batch, tokens]},
 * row-major: its checks and its strides. The position of stream {@code s} of a token is at {@code index(batch, token) + s * streamStride}.
 */
public final class TokenPositions {
    private long @Nullable [] array;
    private long batchStride;
    private int streamStride;

    /** Begins without an array. */
    public TokenPositions() {}

    /** Binds the array of a call, or null. */
    public void bind(long @Nullable [] positions, long batch, long tokens) {
        array = positions;
        batchStride = positions == null || positions.length == tokens ? 0 : tokens;
        streamStride = positions == null || positions.length <= batch * tokens ? 0 : (int) (batch * tokens);
    }

    /** Releases the caller's array. */
    public void clear() {
        array = null;
    }

    /** Returns the array, or null. */
    public long @Nullable [] array() {
        return array;
    }

    /** Returns the index of a token's position in the first stream. */
    public int index(long batch, long token) {
        return (int) (batch * batchStride + token);
    }

    /** Returns whether each sequence has separate positions. */
    public boolean isPerBatch() {
        return batchStride != 0;
    }

    /** Returns the number of elements from one stream to the next: 0 if all streams share their positions. */
    public int streamStride() {
        return streamStride;
    }

    /**
     * Fails unless there is a position for every token.
     *
     * @param tokens tokens of each of {@code batch} sequences
     * @param tensor the tokens' tensor or its shape, for the message
     */
    public static void requireLength(long[] positions, int streams, long batch, long tokens, Object tensor) {
        long length = Checks.notNull(positions, "positions").length;
        if (length == tokens || length == batch * tokens || length == streams * batch * tokens) {
            return;
        }
        String perSequence = ", or " + batch * tokens + " [batch, tokens]";
        String perStream = ", or " + streams * batch * tokens + " [streams, batch, tokens]";
        throw Checks.fail(
                "positions",
                "length " + length,
                "expected " + tokens + " [tokens]" + (batch > 1 ? perSequence : "") + (streams > 1 ? perStream : "")
                        + ", one per token of " + tensor);
    }

    /**
     * Fails unless every position is from 0 to below the limit.
     *
     * @param source the source of angles below the limit; named in the message
     */
    public static void requireRange(long[] positions, long limit, Object source) {
        for (int i = 0; i < positions.length; i++) {
            if (positions[i] < 0 || positions[i] >= limit) {
                throw outside(positions[i], "positions[" + i + "]", limit, source);
            }
        }
    }

    /** Returns the exception for a position that is negative or not below the limit. */
    public static IllegalArgumentException outside(long position, String argument, long limit, Object source) {
        return Checks.fail(
                argument, String.valueOf(position), "expected 0 to " + (limit - 1) + ", the positions of " + source);
    }
}

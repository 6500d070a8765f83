package io.multihead.internal.layout;

import io.multihead.internal.base.ElementAccess;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Positions of elements in the memory of a tensor, counted in elements, without an index array: loops that compute them allocate nothing.
 * Indices are not checked against the shape.
 */
public final class Positions {
    private Positions() {}

    /** Returns the element at a position, widened exactly; fails if the position is outside the memory. */
    public static double get(Tensor tensor, long position) {
        return ElementAccess.inside().get(tensor, position);
    }

    /** Stores an element at a position, rounded once; fails if the position is outside the memory, or the memory is read-only. */
    public static void set(Tensor tensor, double value, long position) {
        ElementAccess.inside().set(tensor, value, position);
    }

    /** Returns the position of the first element at an index of the first axis. */
    public static long of(Tensor tensor, long i) {
        return tensor.offset() + i * tensor.stride(0);
    }

    /** Returns the position of the first element at indices of the first two axes. */
    public static long of(Tensor tensor, long i, long j) {
        return of(tensor, i) + j * tensor.stride(1);
    }

    /** Returns the position of the first element at indices of the first three axes. */
    public static long of(Tensor tensor, long i, long j, long k) {
        return of(tensor, i, j) + k * tensor.stride(2);
    }

    /**
     * Returns the position of a token's first element in a tensor {@code [sequences, heads, tokens, ...]}, or in
     * {@code [1, heads, tokens, ...]} of packed sequences.
     *
     * @param offsets the first token of each packed sequence; null if every batch is a sequence
     */
    public static long ofToken(Tensor tensor, long @Nullable [] offsets, int sequence, long head, long token) {
        return offsets == null ? of(tensor, sequence, head, token) : of(tensor, 0, head, offsets[sequence] + token);
    }

    /** Returns the position of the first element of a row along the last axis. Rows are numbered in row-major order. */
    public static long ofRow(Tensor tensor, long row) {
        long at = tensor.offset();
        long rest = row;
        for (int axis = tensor.rank() - 2; axis >= 0; axis--) {
            at += rest % tensor.dim(axis) * tensor.stride(axis);
            rest /= tensor.dim(axis);
        }
        return at;
    }

    /** Returns the position of an element of a tensor of at most four axes, broadcast to four by the strides from {@code at} on. */
    public static long broadcast(Tensor tensor, long[] strides, int at, long i, long j, long k, long l) {
        return tensor.offset() + i * strides[at] + j * strides[at + 1] + k * strides[at + 2] + l * strides[at + 3];
    }
}

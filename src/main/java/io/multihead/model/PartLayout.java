package io.multihead.model;

import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;

/**
 * The location of a part's intermediate rows in the buffer that all parts share, one part at a time. Equal layouts share their views.
 *
 * @param <V> the part's tensors
 */
interface PartLayout<V> {
    /** Returns the number of floats that a token needs. */
    int floats();

    /** Returns the part's tensors for a number of tokens. */
    V views(float[] buffer, int tokens);

    /** Returns the number of floats from one row to the next: whole panels, for kernels without tails. */
    static int stride(int columns) {
        return Lanes.roundUp(columns, Lanes.PANEL);
    }

    static Tensor rows(float[] buffer, int at, int tokens, int columns, int stride) {
        return Tensor.view(MemorySegment.ofArray(buffer), DType.F32, Shape.of(tokens, columns), at, stride, 1);
    }

    /** Returns parts of rows as {@code [1, heads, tokens, dim]}. */
    static Tensor heads(float[] buffer, int at, int tokens, int heads, int dim, int stride) {
        return Tensor.view(
                MemorySegment.ofArray(buffer), DType.F32, Shape.of(1, heads, tokens, dim), at, 0, dim, stride, 1);
    }
}

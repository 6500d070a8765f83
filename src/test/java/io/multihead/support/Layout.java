package io.multihead.support;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** The memory layout of a tensor in tests. All layouts must give the same results. */
public enum Layout {
    /** Row-major, native memory. */
    DENSE,
    /** Row-major in a Java array of bytes. */
    HEAP,
    /** The second and third axes from the right swapped in memory: (batch, tokens, heads, dim). */
    TOKENS_FIRST,
    /** The last two axes swapped in memory. */
    TURNED,
    /** Gaps between all elements and before the first element. */
    GAPS,
    /** Row-major, one byte after an aligned address. */
    MISALIGNED;

    private static final byte FILL = 0x5A;

    /** Allocates a tensor of this layout. The memory around the elements has a pattern that no kernel may change. */
    public Tensor allocate(Arena arena, DType dtype, long... dims) {
        Shape shape = Shape.of(dims);
        int rank = dims.length;
        long[] order = new long[rank];
        for (int axis = 0; axis < rank; axis++) {
            order[axis] = axis;
        }
        if (this == TOKENS_FIRST && rank >= 3) {
            swap(order, rank - 3, rank - 2);
        } else if (this == TURNED && rank >= 2) {
            swap(order, rank - 2, rank - 1);
        }
        long step = this == GAPS ? 3 : 1;
        long[] strides = new long[rank];
        for (int i = rank - 1; i >= 0; i--) {
            strides[(int) order[i]] = step;
            step = step * Math.max(1, dims[(int) order[i]]) + (this == GAPS ? 2 : 0);
        }
        long offset = this == DENSE ? 0 : 7;
        long bytes = (offset + step + 9) * dtype.bytes() + 1;
        MemorySegment whole = this == HEAP ? MemorySegment.ofArray(new byte[(int) bytes]) : arena.allocate(bytes, 64);
        whole.fill(FILL);
        return Tensor.view(this == MISALIGNED ? whole.asSlice(1) : whole, dtype, shape, offset, strides);
    }

    /** Returns whether every byte outside the elements still has the pattern. */
    public static boolean untouchedOutside(Tensor tensor) {
        MemorySegment memory = tensor.memory();
        boolean[] owned = new boolean[(int) memory.byteSize()];
        own(tensor, tensor.offset(), 0, owned);
        for (int i = 0; i < owned.length; i++) {
            if (!owned[i] && memory.get(java.lang.foreign.ValueLayout.JAVA_BYTE, i) != FILL) {
                return false;
            }
        }
        return true;
    }

    private static void own(Tensor tensor, long at, int axis, boolean[] owned) {
        if (axis == tensor.rank()) {
            for (int i = 0; i < tensor.dtype().bytes(); i++) {
                owned[(int) at * tensor.dtype().bytes() + i] = true;
            }
            return;
        }
        for (long i = 0; i < tensor.dim(axis); i++) {
            own(tensor, at + i * tensor.stride(axis), axis + 1, owned);
        }
    }

    private static void swap(long[] order, int a, int b) {
        long kept = order[a];
        order[a] = order[b];
        order[b] = kept;
    }
}

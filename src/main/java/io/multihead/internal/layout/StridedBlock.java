package io.multihead.internal.layout;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A matrix in user memory: a tensor, the position of the first element in its memory, and the strides of rows and columns, in elements.
 * Mutable, so that one object serves many blocks without allocation. Belongs to one thread.
 */
public final class StridedBlock {
    private @Nullable Tensor tensor;
    private long at;
    private long rowStride;
    private long columnStride;

    public StridedBlock() {}

    /** Sets the tensor, the position of the first element, and the strides. */
    public StridedBlock set(Tensor newTensor, long newAt, long newRowStride, long newColumnStride) {
        tensor = newTensor;
        at = newAt;
        rowStride = newRowStride;
        columnStride = newColumnStride;
        return this;
    }

    /** Sets the block of a tensor's last two axes that begins at a row and a column of the matrix at {@code start}. */
    public StridedBlock matrix(Tensor newTensor, long start, long row, long column) {
        long rows = newTensor.stride(-2);
        long columns = newTensor.stride(-1);
        return set(newTensor, start + row * rows + column * columns, rows, columns);
    }

    public Tensor tensor() {
        return Checks.notNull(tensor, "tensor");
    }

    /** Returns the position of the first element. */
    public long at() {
        return at;
    }

    public long rowStride() {
        return rowStride;
    }

    public long columnStride() {
        return columnStride;
    }

    /** Releases the tensor. */
    public void clear() {
        tensor = null;
    }
}

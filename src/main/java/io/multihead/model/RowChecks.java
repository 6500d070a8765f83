package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;

/** Checks the rows with which a part is called. */
final class RowChecks {
    private RowChecks() {}

    /** Fails unless rows have the part's size, and there is room for them in buffers of a running call. */
    static void require(Compute cpu, Tensor x, Tensor y, int dim, int scratch, Buffers buffers) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(x, "x");
        Checks.notNull(y, "y");
        Checks.notNull(buffers, "buffers").requireRows(x, y, dim, scratch);
    }

    /**
     * Does the same for a part that reads the batch, and returns the batch. It also fails unless the batch has as many tokens as there are
     * rows.
     */
    static TokenBatch requireBatch(Compute cpu, Tensor x, Tensor y, int dim, int scratch, Buffers buffers) {
        require(cpu, x, y, dim, scratch, buffers);
        TokenBatch batch = buffers.batch();
        if (x.dim(0) != batch.tokens()) {
            throw Checks.fail("x", x.dim(0) + " rows", "expected the batch's " + batch.tokens() + " tokens");
        }
        return batch;
    }

    /** Fails unless a tensor has some rows of a part's states; a shape is created only for an error. */
    static void requireShape(Tensor tensor, long rows, int dim, String argument) {
        if (tensor.rank() != 2 || tensor.dim(0) != rows || tensor.dim(1) != dim) {
            throw TensorFaults.shape(argument, tensor.shape(), Shape.of(rows, dim));
        }
    }
}

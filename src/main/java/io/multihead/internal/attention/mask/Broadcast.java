package io.multihead.internal.attention.mask;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** Broadcasts the tensors of a mask to the four axes of the scores. */
final class Broadcast {
    static final int AXES = 4;

    private Broadcast() {}

    /** Writes the strides with which a tensor broadcasts to four axes; for a size of -1, the tensor must have size 1. */
    static void strides(Tensor tensor, long[] sizes, String axes, long[] strides, int at) {
        int missing = AXES - tensor.rank();
        for (int axis = 0; axis < AXES; axis++) {
            long size = axis < missing ? 1 : tensor.dim(axis - missing);
            if (size != 1 && size != sizes[axis]) {
                throw Checks.fail(
                        "mask",
                        "shape " + tensor.shape(),
                        "expected a shape that broadcasts to " + axes + " = " + Arrays.toString(sizes)
                                + (sizes[axis] < 0 ? ", -1 where sequences differ" : "")
                                + perBatchHint(tensor, sizes));
            }
            strides[at + axis] = size == 1 ? 0 : tensor.stride(axis - missing);
        }
    }

    /** Returns the shape to which a mask with one part per batch but no axis for heads must be reshaped; empty for other shapes. */
    private static String perBatchHint(Tensor tensor, long[] sizes) {
        int rank = tensor.rank();
        boolean perBatch = (rank == 2 || rank == 3) && tensor.dim(0) == sizes[0] && fits(tensor.dim(-1), sizes[3]);
        if (!perBatch || (rank == 3 && !fits(tensor.dim(1), sizes[2]))) {
            return "";
        }
        long rows = rank == 3 ? tensor.dim(1) : 1;
        return "; if the first axis is the batch, use reshape(" + tensor.dim(0) + ", 1, " + rows + ", " + tensor.dim(-1)
                + ")";
    }

    private static boolean fits(long size, long wanted) {
        return size == 1 || size == wanted;
    }
}

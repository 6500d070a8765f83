package io.multihead.internal.attention.backward;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;

/**
 * The division of the gradient of a bias into tasks along the bias's own axes; the axes along which the bias is broadcast are summed inside
 * a task in ascending order.
 */
final class BiasGradientSchedule {
    private static final int AXES = 4;

    private final long[] sizes = new long[AXES];
    private final long[] strides = new long[AXES];
    /** Number of tasks along each axis; 1 for an axis that is summed. */
    private final long[] tasks = new long[AXES];
    /** The number of indices of one task along each axis. */
    private final long[] steps = new long[AXES];

    /** The indices {@code from} to {@code to - 1}. */
    record Range(long from, long to) {
        int length() {
            return (int) (to - from);
        }
    }

    /** One task: the scores that it sums, and the size of its part of the bias. */
    record Part(Range batch, Range head, Range query, Range key, int rows, int columns) {
        int size() {
            return rows * columns;
        }

        /** Returns the index of the sum to which a score's gradient is added. */
        int at(long q, long k) {
            return (rows == 1 ? 0 : (int) (q - query.from)) * columns + (columns == 1 ? 0 : (int) (k - key.from));
        }
    }

    /** Divides the gradient of a bias. */
    void build(Tensor gradient, AttentionProblem problem) {
        long[] full = {problem.sequences(), problem.heads(), problem.queries(), problem.keys()};
        long[] most = {1, 1, AttentionBlocking.BACKWARD_QUERIES, AttentionBlocking.BACKWARD_KEYS};
        for (int axis = 0; axis < AXES; axis++) {
            int own = axis - (AXES - gradient.rank());
            boolean summed = own < 0 || gradient.dim(own) == 1;
            sizes[axis] = full[axis];
            strides[axis] = summed ? 0 : gradient.stride(own);
            steps[axis] = summed ? full[axis] : most[axis];
            tasks[axis] = summed ? 1 : Math.ceilDiv(full[axis], most[axis]);
        }
    }

    long tasks() {
        return tasks[0] * tasks[1] * tasks[2] * tasks[3];
    }

    /** Returns the position of the first element of a row of a part. */
    long position(Tensor gradient, Part part, int row) {
        return Positions.broadcast(
                gradient, strides, 0, part.batch.from, part.head.from, part.query.from + row, part.key.from);
    }

    /** Returns the stride of the gradient along the keys, 0 if they are summed. */
    long keyStride() {
        return strides[3];
    }

    Part part(long task) {
        Range key = range(3, task % tasks[3]);
        Range query = range(2, task / tasks[3] % tasks[2]);
        Range head = range(1, task / tasks[3] / tasks[2] % tasks[1]);
        Range batch = range(0, task / tasks[3] / tasks[2] / tasks[1]);
        return new Part(
                batch, head, query, key, strides[2] == 0 ? 1 : query.length(), strides[3] == 0 ? 1 : key.length());
    }

    private Range range(int axis, long number) {
        return new Range(number * steps[axis], Math.min(sizes[axis], (number + 1) * steps[axis]));
    }
}

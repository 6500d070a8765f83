package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * How the gradient of a bias is divided: along its own axes into units, while the axes along which the bias is broadcast are
 * summed inside a unit in ascending order.
 */
final class BiasPlan {
    private static final int AXES = 4;

    private final long[] sizes = new long[AXES];
    private final long[] strides = new long[AXES];
    /** How many units divide each axis; 1 for an axis that is summed. */
    private final long[] units = new long[AXES];
    /** How far a unit reaches along each axis. */
    private final long[] steps = new long[AXES];

    private @Nullable Tensor bias;

    /** Indices from one to before another. */
    record Range(long from, long to) {
        int length() {
            return (int) (to - from);
        }
    }

    /** One unit: the scores it sums, and how wide its own part of the bias is. */
    record Part(Range batch, Range head, Range query, Range key, int rows, int columns) {
        int size() {
            return rows * columns;
        }

        /** Where a score's gradient is added. */
        int at(long q, long k) {
            return (rows == 1 ? 0 : (int) (q - query.from)) * columns + (columns == 1 ? 0 : (int) (k - key.from));
        }
    }

    void bind(Tensor gradient, AttentionCall call) {
        bias = gradient;
        long[] full = {call.batches, call.heads, call.queries, call.keys};
        long[] most = {1, 1, QueryBlock.MOST, KeyRows.MOST};
        for (int axis = 0; axis < AXES; axis++) {
            int own = axis - (AXES - gradient.rank());
            boolean summed = own < 0 || gradient.dim(own) == 1;
            sizes[axis] = full[axis];
            strides[axis] = summed ? 0 : gradient.stride(own);
            steps[axis] = summed ? full[axis] : most[axis];
            units[axis] = summed ? 1 : Math.ceilDiv(full[axis], most[axis]);
        }
    }

    long units() {
        return units[0] * units[1] * units[2] * units[3];
    }

    Part part(long unit) {
        Range key = range(3, unit % units[3]);
        Range query = range(2, unit / units[3] % units[2]);
        Range head = range(1, unit / units[3] / units[2] % units[1]);
        Range batch = range(0, unit / units[3] / units[2] / units[1]);
        return new Part(
                batch, head, query, key, strides[2] == 0 ? 1 : query.length(), strides[3] == 0 ? 1 : key.length());
    }

    /** Writes a unit's sums. */
    void write(Part part, double[] sums, Packer packer) {
        Tensor to = Checks.notNull(bias, "bias");
        float[] row = new float[Lanes.roundUp(part.columns, PANEL)];
        for (int r = 0; r < part.rows; r++) {
            for (int c = 0; c < part.columns; c++) {
                row[c] = (float) sums[r * part.columns + c];
            }
            long at = to.offset()
                    + part.batch.from * strides[0]
                    + part.head.from * strides[1]
                    + (part.query.from + r) * strides[2]
                    + part.key.from * strides[3];
            packer.write(row, 0, 0, 1, part.columns, to, at, 0, strides[3]);
        }
    }

    void clear() {
        bias = null;
    }

    private Range range(int axis, long unit) {
        return new Range(unit * steps[axis], Math.min(sizes[axis], (unit + 1) * steps[axis]));
    }
}

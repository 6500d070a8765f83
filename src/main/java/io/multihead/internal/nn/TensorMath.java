package io.multihead.internal.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.WideRows;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.function.LongToDoubleFunction;

/** Sums and multiples of tensors of one shape, with any floating-point types and strides, on the threads of a Compute. Stateless. */
public final class TensorMath {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey OTHER = new FloatsKey();
    private static final ScratchKey<Sums> SUMS = ScratchKey.ofWorker(Sums::new);

    private TensorMath() {}

    /** Computes {@code to = a + b}; {@code to} may be {@code a} or {@code b}. */
    public static void add(Compute cpu, Tensor a, Tensor b, Tensor to) {
        ElementwiseCall.run(
                cpu,
                (values, inputs, buffer, columns, first) ->
                        RowOps.add(values, 0, ElementwiseCall.padded(columns), inputs, 0),
                a,
                b,
                to);
    }

    /** Computes {@code to = a + factor b}, each element rounded once. */
    public static void addScaled(Compute cpu, Tensor a, Tensor b, double factor, Tensor to) {
        ElementwiseCall.run(
                cpu,
                (values, inputs, buffer, columns, first) ->
                        RowOps.addScaled(values, 0, ElementwiseCall.padded(columns), inputs, (float) factor),
                a,
                b,
                to);
    }

    /** Computes {@code to = factor a}; {@code to} may be {@code a}. */
    public static void scale(Compute cpu, Tensor a, double factor, Tensor to) {
        ElementwiseCall.run(
                cpu,
                (values, inputs, buffer, columns, first) ->
                        RowOps.scale(values, 0, ElementwiseCall.padded(columns), (float) factor),
                a,
                null,
                to);
    }

    /**
     * Multiplies every row of a tensor, the elements of its last axis, by a separate factor: in f32.
     *
     * @param factors the factor of a row, by its row-major number
     */
    public static void scaleRows(Compute cpu, Tensor to, LongToDoubleFunction factors) {
        RowView rows = RowView.of(to, 1);
        int length = (int) rows.length();
        RowLoop.run(cpu, rows.count(), (row, scratch) -> {
            float[] values = scratch.floats(ROW, RowView.bufferLength(length));
            rows.read(scratch.packer(), row, values);
            RowOps.scale(values, 0, ElementwiseCall.padded(length), (float) factors.applyAsDouble(row));
            rows.write(scratch.packer(), row, values);
        });
    }

    /**
     * Adds the sum over the first axis of {@code [batch, rows, length]} to a tensor {@code [rows, length]}: in double, batch by batch,
     * and rounded once.
     */
    public static void addOverFirstAxis(Compute cpu, Tensor parts, Tensor to) {
        sumOverAxis(cpu, parts, to, true, 1);
    }

    /** Computes the mean over the first axis of {@code [parts, rows, length]}: in double, part by part, and rounded once. */
    public static void meanOverFirstAxis(Compute cpu, Tensor parts, Tensor to) {
        sumOverAxis(cpu, parts, to, false, parts.dim(0));
    }

    private static void sumOverAxis(Compute cpu, Tensor parts, Tensor to, boolean adds, double divisor) {
        RowView from = RowView.of(parts, 1);
        RowView rows = RowView.of(to, 1);
        int length = (int) rows.length();
        int padded = ElementwiseCall.padded(length);
        RowLoop.run(cpu, rows.count(), (row, scratch) -> {
            float[] values = scratch.floats(ROW, RowView.bufferLength(length));
            double[] sums = scratch.get(SUMS).ofZeros(padded);
            if (adds) {
                rows.read(scratch.packer(), row, values);
                WideRows.add(sums, values, padded);
            }
            for (long part = 0; part < parts.dim(0); part++) {
                from.read(scratch.packer(), part * rows.count() + row, values);
                WideRows.add(sums, values, padded);
            }
            WideRows.divide(sums, divisor, values, padded);
            rows.write(scratch.packer(), row, values);
        });
    }

    /** Sums of one thread. */
    private static final class Sums {
        private final Scratch memory;
        private double[] sums = new double[0];

        Sums(Scratch memory) {
            this.memory = memory;
        }

        /** Returns an array that begins with this number of zeros. */
        double[] ofZeros(int length) {
            sums = memory.atLeast(sums, length);
            Arrays.fill(sums, 0, length, 0);
            return sums;
        }
    }

    /** Takes the sum of each group of rows, possibly from several threads at the same time. */
    public interface GroupSums {
        /** Takes a sum, given the number of the group. */
        void accept(long group, double sum);
    }

    /**
     * Computes the sums of the products of two tensors in groups of equally many rows, along the last axis and in row-major order: in
     * double, the elements of a row first, then the rows of a group.
     */
    public static void groupDots(Compute cpu, Tensor a, Tensor b, long groups, GroupSums to) {
        groupDots(cpu, a, b, false, groups, to);
    }

    /**
     * Computes the sums of the products of weights and their gradients in groups, as {@link #groupDots} does. If a weight is 0, like
     * the weight of a hidden key, its gradient may have any value.
     */
    public static void weightedSums(Compute cpu, Tensor weights, Tensor gradients, long groups, GroupSums to) {
        groupDots(cpu, weights, gradients, true, groups, to);
    }

    private static void groupDots(Compute cpu, Tensor a, Tensor b, boolean dropsZeros, long groups, GroupSums to) {
        int axes = Math.min(1, a.rank());
        RowView first = RowView.of(a, axes);
        RowView second = RowView.of(b, axes);
        long rows = groups == 0 ? 0 : first.count() / groups;
        RowLoop.run(cpu, groups, (group, scratch) -> {
            double sum = 0;
            for (long row = group * rows; row < (group + 1) * rows; row++) {
                sum += addDot(0, first, second, dropsZeros, row, scratch);
            }
            to.accept(group, sum);
        });
    }

    /**
     * Returns the sum of the products of all elements, rounded to f32, in double and in row-major order. The sum is computed on the
     * calling thread.
     */
    public static double dot(Compute cpu, Tensor a, Tensor b) {
        RowView first = RowView.of(a, 1);
        RowView second = RowView.of(b, 1);
        double sum = 0;
        try (SingleCall call = SingleCall.open(cpu)) {
            for (long row = 0; row < first.count(); row++) {
                sum = addDot(sum, first, second, false, row, call.workspace());
            }
        }
        return sum;
    }

    private static double addDot(double sum, RowView a, RowView b, boolean dropsZeros, long row, Workspace scratch) {
        int length = (int) a.length();
        float[] first = scratch.floats(ROW, RowView.bufferLength(length));
        float[] second = scratch.floats(OTHER, RowView.bufferLength(length));
        a.read(scratch.packer(), row, first);
        b.read(scratch.packer(), row, second);
        if (dropsZeros) {
            ScoreGradient.dropWhereZero(second, first, ElementwiseCall.padded(length));
        }
        return WideRows.dotInOrder(sum, first, second, length);
    }
}

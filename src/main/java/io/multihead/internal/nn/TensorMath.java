package io.multihead.internal.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.kernel.RowOps;
import io.multihead.tensor.Tensor;

/** Sums and multiples of tensors of one shape, any floating types and strides, on the threads of a Compute. Stateless. */
public final class TensorMath {
    private TensorMath() {}

    /** Computes {@code to = a + b}; {@code to} may be {@code a} or {@code b}. */
    public static void add(Compute cpu, Tensor a, Tensor b, Tensor to) {
        ElementwiseCall.run(
                cpu,
                (values, inputs, room, columns, first) ->
                        RowOps.add(values, 0, ElementwiseCall.padded(columns), inputs, 0),
                a,
                b,
                to);
    }

    /** Computes {@code to = a + factor b}, each element rounded once. */
    public static void addScaled(Compute cpu, Tensor a, Tensor b, double factor, Tensor to) {
        ElementwiseCall.run(
                cpu,
                (values, inputs, room, columns, first) ->
                        RowOps.addScaled(values, 0, ElementwiseCall.padded(columns), inputs, (float) factor),
                a,
                b,
                to);
    }

    /** Computes {@code to = factor a}; {@code to} may be {@code a}. */
    public static void scale(Compute cpu, Tensor a, double factor, Tensor to) {
        ElementwiseCall.run(
                cpu,
                (values, inputs, room, columns, first) ->
                        RowOps.scale(values, 0, ElementwiseCall.padded(columns), (float) factor),
                a,
                null,
                to);
    }

    /**
     * Adds the sum over the first axis of {@code [batch, rows, length]} to a tensor {@code [rows, length]}: in double, batch by batch,
     * and rounded once. On the calling thread.
     */
    public static void addOverFirstAxis(Tensor parts, Tensor to) {
        for (long row = 0; row < to.dim(0); row++) {
            for (long i = 0; i < to.dim(1); i++) {
                double sum = to.get(row, i);
                for (long b = 0; b < parts.dim(0); b++) {
                    sum += parts.get(b, row, i);
                }
                to.set(sum, row, i);
            }
        }
    }

    /** Returns the sum of the products of all elements, rounded to f32, in double and in row-major order. On the calling thread. */
    public static double dot(Tensor a, Tensor b) {
        float[] first = a.toArray();
        float[] second = b.toArray();
        double sum = 0;
        for (int i = 0; i < first.length; i++) {
            sum += (double) first[i] * second[i];
        }
        return sum;
    }
}

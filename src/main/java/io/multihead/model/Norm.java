package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.nn.NormForward;
import io.multihead.internal.nn.Normalization;
import io.multihead.internal.nn.RowNorm;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The trained normalization of rows: layer normalization (Ba et al. 2016) or root mean square normalization (Zhang and Sennrich 2019). Its
 * weights are copied as f32. Immutable and thread-safe.
 */
public final class Norm {
    private final RowNorm row;
    private final Normalization normalization;

    private Norm(RowNorm row) {
        this.row = row;
        normalization = new Normalization(
                Shape.of(row.length()),
                row.epsilon(),
                row.centered(),
                view(row.weight(), row.length()),
                view(row.bias(), row.length()));
    }

    private static Tensor view(float[] padded, int length) {
        return Tensor.view(MemorySegment.ofArray(padded), DType.F32, Shape.of(length));
    }

    /**
     * Returns {@code x / sqrt(mean(x^2) + epsilon) * weight}.
     *
     * @param weight {@code [dim]}, any element type
     * @param epsilon at least 0
     * @return the normalization
     * @throws IllegalArgumentException if the weight does not have one axis, or epsilon is negative or not
     *     finite
     */
    public static Norm rms(Tensor weight, double epsilon) {
        float[] factors = padded(weight, "weight");
        return of(dim(weight), false, epsilon, factors, new float[factors.length]);
    }

    /**
     * Returns {@code x / sqrt(mean(x^2) + epsilon) * (1 + weight)}, as Gemma stores its weights. The sum {@code 1 + weight} is rounded once.
     *
     * @param weight {@code [dim]}, any element type
     * @param epsilon at least 0
     * @return the normalization
     * @throws IllegalArgumentException if the weight does not have one axis, or epsilon is negative or not
     *     finite
     */
    public static Norm rmsOfOnePlus(Tensor weight, double epsilon) {
        float[] factors = padded(weight, "weight");
        for (int i = 0; i < dim(weight); i++) {
            factors[i] = 1f + factors[i];
        }
        return of(dim(weight), false, epsilon, factors, new float[factors.length]);
    }

    /**
     * Returns {@code (x - mean(x)) / sqrt(var(x) + epsilon) * weight + bias}.
     *
     * @param weight {@code [dim]}, any element type
     * @param bias {@code [dim]}, any element type; null for none
     * @param epsilon at least 0
     * @return the normalization
     * @throws IllegalArgumentException if the weight does not have one axis, the shape of the bias differs, or epsilon is negative
     *     or not finite
     */
    public static Norm layer(Tensor weight, @Nullable Tensor bias, double epsilon) {
        float[] factors = padded(weight, "weight");
        float[] addends = bias == null ? new float[factors.length] : padded(bias, "bias");
        if (bias != null && bias.dim(0) != weight.dim(0)) {
            throw Checks.fail("bias", "shape " + bias.shape(), "expected " + weight.shape() + ", as in weight");
        }
        return of(dim(weight), true, epsilon, factors, addends);
    }

    /** {@return the number of elements of a row} */
    public int dim() {
        return row.length();
    }

    /** {@return the factors, copied} */
    public float[] weight() {
        return Arrays.copyOf(row.weight(), dim());
    }

    /** {@return a copy of the biases; zeros if there are none} */
    public float[] bias() {
        return Arrays.copyOf(row.bias(), dim());
    }

    /** {@return the number of bytes of the weights} */
    public long bytes() {
        return (long) (row.weight().length + row.bias().length) * Float.BYTES;
    }

    /**
     * Normalizes rows. A warm call allocates nothing.
     *
     * @param cpu threads and scratch
     * @param x {@code [..., dim]}, any strides and floating-point type
     * @param y a tensor of the same shape, any strides, written
     * @throws IllegalArgumentException if shapes do not fit or memory overlaps; nothing is written
     */
    public void forward(Compute cpu, Tensor x, Tensor y) {
        Checks.notNull(cpu, "cpu");
        if (Checks.notNull(x, "x").rank() == 0 || x.dim(-1) != dim()) {
            throw Checks.fail("x", "shape " + x.shape(), "expected [..., " + dim() + "]");
        }
        if (!Checks.notNull(y, "y").shape().equals(x.shape())) {
            throw TensorFaults.shape("y", y.shape(), x.shape());
        }
        TensorChecks.requireFloating(x, "x");
        TensorChecks.requireAccess(cpu, x, "x");
        TensorChecks.requireWritable(cpu, y, "y");
        TensorChecks.requireApart(y, "y", x, "x");
        NormForward.run(cpu, normalization, x, y);
    }

    RowNorm row() {
        return row;
    }

    /** Returns the function of a row of a normalization, or null without a normalization. */
    static @Nullable RowNorm row(@Nullable Norm norm) {
        return norm == null ? null : norm.row;
    }

    private static Norm of(int dim, boolean centered, double epsilon, float[] weight, float[] bias) {
        Checks.finiteAtLeast(epsilon, 0, "epsilon");
        return new Norm(new RowNorm(dim, centered, epsilon, weight, bias));
    }

    private static int dim(Tensor weight) {
        return (int) weight.dim(0);
    }

    private static float[] padded(Tensor tensor, String argument) {
        if (Checks.notNull(tensor, argument).rank() != 1 || tensor.dim(0) == 0) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected one axis of at least 1 element");
        }
        return Arrays.copyOf(tensor.toArray(), Lanes.roundUp(Checks.fitsInt(tensor.dim(0), argument), Lanes.PANEL));
    }
}

package io.multihead.tensor;

import io.multihead.internal.base.Checks;
import java.util.Arrays;

/**
 * The sizes of a tensor's axes, outermost first. Immutable and thread-safe.
 *
 * <p>A size may be 0 (an empty tensor); a shape without axes is a scalar with one element. Sizes and the number of
 * elements are {@code long}, so a tensor may exceed 2<sup>31</sup> elements.
 */
public final class Shape {
    /**
     * The largest number of axes. Views are traversed recursively, axis by axis. Tensors of models have less than half this number of
     * axes.
     */
    private static final int MOST_AXES = 64;

    private final long[] dims;
    private final long elements;

    private Shape(long[] dims) {
        this.dims = dims;
        if (dims.length > MOST_AXES) {
            throw Checks.fail("shape", dims.length + " axes", "expected at most " + MOST_AXES);
        }
        long product = 1;
        boolean empty = false;
        for (int axis = 0; axis < dims.length; axis++) {
            Checks.atLeast(dims[axis], 0, "shape axis", axis);
            try {
                empty |= dims[axis] == 0;
                product = Math.multiplyExact(product, Math.max(1, dims[axis]));
            } catch (ArithmeticException overflow) {
                throw Checks.fail("shape", Arrays.toString(dims), "expected fewer than 2^63 elements");
            }
        }
        this.elements = empty ? 0 : product;
    }

    /**
     * {@return a shape with these sizes, outermost axis first}
     *
     * @param dims one size per axis, each at least 0; at most 64
     * @throws IllegalArgumentException if there are more axes, a size is negative, or the product of the sizes other than 0, on which the
     *     strides depend, overflows a {@code long}
     */
    public static Shape of(long... dims) {
        return new Shape(Checks.notNull(dims, "dims").clone());
    }

    /** {@return the number of axes; 0 for a scalar} */
    public int rank() {
        return dims.length;
    }

    /**
     * {@return the size of one axis; a negative axis counts from the end}
     *
     * @param axis from {@code -rank()} to {@code rank() - 1}
     * @throws IllegalArgumentException if there is no such axis
     */
    public long dim(int axis) {
        return dims[axis(axis)];
    }

    /** {@return the number of elements: the product of all sizes, 1 for a scalar} */
    public long elements() {
        return elements;
    }

    /** {@return the sizes as a new array} */
    public long[] toArray() {
        return dims.clone();
    }

    /** Returns the index of an axis, which may be negative. */
    int axis(int axis) {
        int resolved = axis < 0 ? axis + dims.length : axis;
        if (resolved < 0 || resolved >= dims.length) {
            throw Checks.fail("axis", String.valueOf(axis), "expected an axis of shape " + this);
        }
        return resolved;
    }

    /** Returns the row-major strides in elements. */
    long[] denseStrides() {
        long[] strides = new long[dims.length];
        long step = 1;
        for (int axis = dims.length - 1; axis >= 0; axis--) {
            strides[axis] = step;
            step *= Math.max(1, dims[axis]);
        }
        return strides;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Shape shape && Arrays.equals(dims, shape.dims);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(dims);
    }

    /** Returns the sizes in brackets, as in {@code [2, 8, 128, 64]}. */
    @Override
    public String toString() {
        return Arrays.toString(dims);
    }
}

package io.multihead.tensor;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;

/**
 * A typed, strided view of memory: the data of a {@link Tensor}, which documents the methods of the same names. Immutable
 * and thread-safe; the elements are plain memory.
 */
final class View {
    /**
     * The largest position. A larger one would overflow when it is counted in bytes, and could be inside the memory
     * again.
     */
    private static final long MAX_POSITION = Long.MAX_VALUE / Double.BYTES;

    private final MemorySegment memory;
    private final DType dtype;
    private final Shape shape;
    private final long offset;
    private final long[] strides;
    private final long firstByte;
    private final long lastByte;

    /** Creates a view of elements that are inside the memory; keeps the strides. */
    private View(MemorySegment memory, DType dtype, Shape shape, long offset, long[] strides) {
        this.memory = memory;
        this.dtype = dtype;
        this.shape = shape;
        this.offset = offset;
        this.strides = strides;
        long last = offset + Strides.reach(shape, strides);
        this.firstByte = memory.address() + offset * dtype.bytes();
        this.lastByte = memory.address() + (last + 1) * dtype.bytes() - 1;
    }

    /** Returns a view after a check that all elements are inside the memory; copies the strides. */
    static View of(MemorySegment memory, DType dtype, Shape shape, long offset, long[] strides) {
        Checks.notNull(memory, "memory");
        Checks.notNull(dtype, "dtype");
        Checks.notNull(shape, "shape");
        Checks.atLeast(offset, 0, "offset");
        if (Checks.notNull(strides, "strides").length != shape.rank()) {
            throw Checks.fail("strides", Arrays.toString(strides), "expected one per axis of shape " + shape);
        }
        for (int axis = 0; axis < strides.length; axis++) {
            Checks.atLeast(strides[axis], 0, "stride of axis", axis);
        }
        Strides.requireInside(memory, dtype, shape, offset, strides);
        return new View(memory, dtype, shape, offset, strides.clone());
    }

    MemorySegment memory() {
        return memory;
    }

    DType dtype() {
        return dtype;
    }

    Shape shape() {
        return shape;
    }

    int rank() {
        return shape.rank();
    }

    long dim(int axis) {
        return shape.dim(axis);
    }

    long stride(int axis) {
        return strides[shape.axis(axis)];
    }

    long offset() {
        return offset;
    }

    boolean isDense() {
        return Strides.dense(shape, strides);
    }

    /**
     * Returns the position of an element, in elements from the start of the memory; fails if the index is outside the
     * shape.
     */
    long position(long[] index) {
        return Strides.position(shape, offset, strides, index);
    }

    /** Returns the element at a position of the memory; not checked against the shape. */
    double read(long position) {
        return dtype.read(memory, Objects.checkIndex(position, MAX_POSITION) * dtype.bytes());
    }

    /** Stores an element at a position of the memory; not checked against the shape. */
    void write(long position, double value) {
        dtype.write(memory, Objects.checkIndex(position, MAX_POSITION) * dtype.bytes(), value);
    }

    void requireWritable() {
        if (memory.isReadOnly()) {
            throw TensorFaults.readOnly("tensor");
        }
    }

    View permute(int[] axes) {
        long[] dims = new long[rank()];
        long[] steps = new long[rank()];
        boolean[] seen = new boolean[rank()];
        if (Checks.notNull(axes, "axes").length != rank()) {
            throw Checks.fail("axes", Arrays.toString(axes), "expected every axis of shape " + shape + " once");
        }
        for (int i = 0; i < axes.length; i++) {
            int axis = shape.axis(axes[i]);
            if (seen[axis]) {
                throw Checks.fail("axes", Arrays.toString(axes), "expected every axis of shape " + shape + " once");
            }
            seen[axis] = true;
            dims[i] = shape.dim(axis);
            steps[i] = strides[axis];
        }
        return new View(memory, dtype, Shape.of(dims), offset, steps);
    }

    View transpose(int first, int second) {
        int[] axes = new int[rank()];
        Arrays.setAll(axes, axis -> axis);
        int a = shape.axis(first);
        int b = shape.axis(second);
        axes[a] = b;
        axes[b] = a;
        return permute(axes);
    }

    View slice(int axis, long from, long to) {
        int at = shape.axis(axis);
        if (from < 0 || to < from || to > shape.dim(at)) {
            throw Checks.fail("slice", from + " to " + to, "expected a range within axis " + axis + " of " + shape);
        }
        long[] dims = shape.toArray();
        dims[at] = to - from;
        return part(Shape.of(dims), strides, at, from);
    }

    View select(int axis, long index) {
        int at = shape.axis(axis);
        Checks.index(index, shape.dim(at), "index of axis", axis);
        return part(Shape.of(Strides.without(shape.toArray(), at)), Strides.without(strides, at), at, index);
    }

    /**
     * Returns the view that begins at one position of an axis; a view without elements begins at the same position as
     * this view.
     */
    private View part(Shape dims, long[] steps, int axis, long from) {
        long start = dims.elements() == 0 ? offset : offset + from * strides[axis];
        return new View(memory, dtype, dims, start, steps);
    }

    View reshape(long[] dims) {
        Shape target = Shape.of(Strides.resolve(Checks.notNull(dims, "dims"), shape));
        long[] steps = Strides.reshaped(shape, strides, target);
        if (steps == null) {
            throw Checks.fail(
                    "reshape",
                    "shape " + shape + " with strides " + Arrays.toString(strides),
                    "no view of shape " + target + " exists; copyTo a dense tensor first");
        }
        return new View(memory, dtype, target, offset, steps);
    }

    View broadcast(long[] dims) {
        Shape target = Shape.of(dims);
        return new View(memory, dtype, target, offset, Strides.broadcast(shape, strides, target));
    }

    boolean overlaps(View other) {
        if (other.shape.elements() == 0 || shape.elements() == 0) {
            return false;
        }
        if (lastByte < other.firstByte || other.lastByte < firstByte || isInterleavedWith(other)) {
            return false;
        }
        // this check is last, since it allocates objects for heap segments
        return Strides.sameMemory(memory, other.memory);
    }

    /** Returns whether two views of one memory whose ranges overlap are known to share no element. */
    private boolean isInterleavedWith(View other) {
        if (dtype.bytes() != other.dtype.bytes() || (firstByte - other.firstByte) % dtype.bytes() != 0) {
            return false;
        }
        long distance = (other.firstByte - firstByte) / dtype.bytes();
        return Strides.interleaved(shape, strides, other.shape, other.strides, distance);
    }

    boolean overlapsItself() {
        return !Strides.distinct(shape, strides);
    }

    @Override
    public String toString() {
        return dtype + " " + shape + (isDense() ? "" : " strides " + Arrays.toString(strides));
    }
}

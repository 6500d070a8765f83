package io.multihead.tensor;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.ElementAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;

/**
 * A strided view of the elements in a {@link MemorySegment}: native, memory-mapped or a Java array.
 *
 * <p>A tensor does not own memory. The creator of the segment, or the arena given to {@link #allocate}, owns the memory. After its arena
 * is closed, every access fails with the JDK's own {@link IllegalStateException}, and access to a confined arena from another thread with
 * {@link WrongThreadException}. Views ({@link #permute}, {@link #slice}, {@link #select}, {@link #reshape}) share the memory and copy
 * nothing.
 *
 * <p>The view itself is immutable and thread-safe; its elements are plain memory, so concurrent reads are safe and writes need the
 * caller's synchronization. Offsets and strides are {@code long} numbers of elements.
 */
public final class Tensor {
    static {
        ElementAccess.open(new ElementAccess.Inside() {
            @Override
            public double get(Object tensor, long position) {
                return ((Tensor) tensor).view.read(position);
            }

            @Override
            public void set(Object tensor, double value, long position) {
                View view = ((Tensor) tensor).view;
                view.requireWritable();
                view.write(position, value);
            }
        });
    }

    private final View view;

    private Tensor(View view) {
        this.view = view;
    }

    /**
     * Returns a dense row-major view of the start of {@code memory}.
     *
     * @param memory memory of the elements; needs no alignment
     * @param dtype the type of an element
     * @param shape the sizes
     * @return the view, which shares the memory
     * @throws IllegalArgumentException if the memory is too small
     */
    public static Tensor view(MemorySegment memory, DType dtype, Shape shape) {
        return view(memory, dtype, shape, 0, Checks.notNull(shape, "shape").denseStrides());
    }

    /**
     * Returns a strided view of {@code memory}.
     *
     * @param memory memory of the elements; needs no alignment
     * @param dtype the type of an element
     * @param shape the sizes
     * @param offset index of the first element, in elements from the start of the memory
     * @param strides elements between neighbors, one per axis, at least 0; 0 repeats one element along an axis
     * @return the view, which shares the memory
     * @throws IllegalArgumentException if a stride or the offset is negative or an element would be outside the memory
     */
    public static Tensor view(MemorySegment memory, DType dtype, Shape shape, long offset, long... strides) {
        return new Tensor(View.of(memory, dtype, shape, offset, strides));
    }

    /**
     * Returns a dense view of a Java array, without a copy.
     *
     * @param values the elements, row-major
     * @param dims the sizes; none means one axis as long as the array
     * @return the view, which shares the array
     * @throws IllegalArgumentException if the array is shorter than the shape
     */
    public static Tensor of(float[] values, long... dims) {
        Checks.notNull(values, "values");
        Shape shape = Checks.notNull(dims, "dims").length == 0 ? Shape.of(values.length) : Shape.of(dims);
        return view(MemorySegment.ofArray(values), DType.F32, shape);
    }

    /**
     * Returns a dense F64 view of a Java array, without a copy.
     *
     * @param values the elements, row-major
     * @param dims the sizes; none means one axis as long as the array
     * @return the view, which shares the array
     * @throws IllegalArgumentException if the array is shorter than the shape
     */
    public static Tensor of(double[] values, long... dims) {
        int length = Checks.notNull(values, "values").length;
        Shape shape = Checks.notNull(dims, "dims").length == 0 ? Shape.of(length) : Shape.of(dims);
        return view(MemorySegment.ofArray(values), DType.F64, shape);
    }

    /**
     * {@return a dense I8 tensor of 1 for true and 0 for false, as masks take them}. The JDK cannot view a boolean array as memory, so the
     * flags are copied to a new array.
     *
     * @param flags the elements, row-major
     * @param dims the sizes; none means one axis as long as the array
     * @throws IllegalArgumentException if there are fewer flags than elements
     */
    public static Tensor of(boolean[] flags, long... dims) {
        int length = Checks.notNull(flags, "flags").length;
        Shape shape = Checks.notNull(dims, "dims").length == 0 ? Shape.of(length) : Shape.of(dims);
        byte[] bytes = new byte[flags.length];
        for (int i = 0; i < flags.length; i++) {
            bytes[i] = (byte) (flags[i] ? 1 : 0);
        }
        return view(MemorySegment.ofArray(bytes), DType.I8, shape);
    }

    /**
     * Returns a dense view of a buffer from its position to its limit, without a copy, and checks its byte order: a {@link
     * java.nio.ByteBuffer} is big-endian until the caller changes its order, and so are its views such as {@code FloatBuffer}.
     * {@code MemorySegment.ofBuffer} does not keep the order.
     *
     * @param buffer the elements, row-major: a {@code ByteBuffer} of any element type, a {@code FloatBuffer} of F32, a {@code
     *     DoubleBuffer} of F64, or a {@code ShortBuffer} of BF16 or F16; direct or on the heap
     * @param dtype the type of an element
     * @param dims the sizes; none means one axis of all whole elements
     * @return the view, which shares the buffer's memory; its later position and limit have no effect
     * @throws IllegalArgumentException if elements have several bytes and the buffer's order is not the machine's, the buffer's
     *     elements are of another type, or it is shorter than the shape
     */
    public static Tensor of(Buffer buffer, DType dtype, long... dims) {
        MemorySegment memory = BufferMemory.of(buffer, dtype);
        boolean whole = Checks.notNull(dims, "dims").length == 0;
        return view(memory, dtype, whole ? Shape.of(memory.byteSize() / dtype.bytes()) : Shape.of(dims));
    }

    /**
     * {@return a new dense tensor of zeros, aligned to 64 bytes: {@link #allocate}, with the sizes as numbers}
     *
     * @param arena owns the memory; closing it ends the tensor
     * @param dtype the type of an element
     * @param dims the sizes; none means a single number
     * @throws IllegalArgumentException if a size is negative or the number of bytes overflows a {@code long}
     */
    public static Tensor zeros(Arena arena, DType dtype, long... dims) {
        return allocate(arena, dtype, Shape.of(dims));
    }

    /**
     * {@return a new dense tensor of zeros, aligned to 64 bytes}
     *
     * @param arena owns the memory; closing it ends the tensor
     * @param dtype the type of an element
     * @param shape the sizes
     * @throws IllegalArgumentException if the number of bytes overflows a {@code long}
     */
    public static Tensor allocate(Arena arena, DType dtype, Shape shape) {
        Checks.notNull(arena, "arena");
        Checks.notNull(dtype, "dtype");
        if (Checks.notNull(shape, "shape").elements() > Long.MAX_VALUE / dtype.bytes()) {
            throw Checks.fail("shape", shape + " of " + dtype, "expected fewer than 2^63 bytes");
        }
        return view(arena.allocate(shape.elements() * dtype.bytes(), 64), dtype, shape);
    }

    /** {@return the whole segment that this view was made from} */
    public MemorySegment memory() {
        return view.memory();
    }

    /** {@return the type of an element} */
    public DType dtype() {
        return view.dtype();
    }

    /** {@return the sizes} */
    public Shape shape() {
        return view.shape();
    }

    /** {@return the number of axes} */
    public int rank() {
        return view.rank();
    }

    /**
     * {@return the size of one axis; a negative axis counts from the end}
     *
     * @param axis from {@code -rank()} to {@code rank() - 1}
     */
    public long dim(int axis) {
        return view.dim(axis);
    }

    /**
     * {@return the elements between neighbors along one axis; a negative axis counts from the end}
     *
     * @param axis from {@code -rank()} to {@code rank() - 1}
     */
    public long stride(int axis) {
        return view.stride(axis);
    }

    /** {@return the index of the first element, in elements from the start of {@link #memory()}} */
    public long offset() {
        return view.offset();
    }

    /** {@return whether the elements follow each other row-major without gaps; true for a dense view, and for one without elements} */
    public boolean isDense() {
        return view.isDense();
    }

    /**
     * {@return one element, widened exactly}
     *
     * @param index one position per axis
     * @throws IllegalArgumentException if an index is outside its axis
     */
    public double get(long... index) {
        return view.read(view.position(index));
    }

    /**
     * Stores one element, rounded to {@link #dtype()}.
     *
     * @param value the number
     * @param index one position per axis
     * @throws IllegalArgumentException if an index is outside its axis, or the memory is read-only
     */
    public void set(double value, long... index) {
        view.requireWritable();
        view.write(view.position(index), value);
    }

    /**
     * Returns this tensor with its axes in another order: axis {@code i} of the view is axis {@code axes[i]} of this one.
     *
     * @param axes every axis once
     * @return a view of the same memory
     * @throws IllegalArgumentException if {@code axes} is not a permutation
     */
    public Tensor permute(int... axes) {
        return new Tensor(view.permute(axes));
    }

    /**
     * Returns this tensor with two axes exchanged, such as {@code transpose(1, 2)} from {@code (batch, tokens, heads, dim)} to
     * {@code (batch, heads, tokens, dim)}.
     *
     * @param first an axis; negative counts from the end
     * @param second an axis; may be the first
     * @return a view of the same memory
     * @throws IllegalArgumentException if an axis does not exist
     */
    public Tensor transpose(int first, int second) {
        return new Tensor(view.transpose(first, second));
    }

    /**
     * Returns the part of this tensor with positions {@code from} to {@code to - 1} along one axis.
     *
     * @param axis the axis; negative counts from the end
     * @param from first position
     * @param to one past the last position
     * @return a view of the same memory
     * @throws IllegalArgumentException unless {@code 0 <= from <= to <= dim(axis)}
     */
    public Tensor slice(int axis, long from, long to) {
        return new Tensor(view.slice(axis, from, to));
    }

    /**
     * Returns the part of this tensor at one position of an axis, without that axis.
     *
     * @param axis the axis; negative counts from the end
     * @param index the position
     * @return a view of the same memory, one rank lower
     * @throws IllegalArgumentException if the position is outside the axis
     */
    public Tensor select(int axis, long index) {
        return new Tensor(view.select(axis, index));
    }

    /**
     * Returns this tensor with other sizes and the same elements in row-major order.
     *
     * @param dims the new sizes; one of them may be -1 and is then derived
     * @return a view of the same memory
     * @throws IllegalArgumentException if the number of elements differs, or the strides allow no view: copy to a dense
     *     tensor first, with {@link #copyTo}
     */
    public Tensor reshape(long... dims) {
        return new Tensor(view.reshape(dims));
    }

    /**
     * Returns this tensor repeated, without a copy, along axes of size 1 and along new leading axes.
     *
     * @param dims the requested sizes, aligned with this shape from the right
     * @return a view of the same memory in which repeated elements share storage
     * @throws IllegalArgumentException if a size other than 1 differs
     */
    public Tensor broadcast(long... dims) {
        return new Tensor(view.broadcast(dims));
    }

    /**
     * Copies every element into {@code target}, and converts it to the element type of {@code target}.
     *
     * @param target a tensor of the same shape that does not overlap this one
     * @throws IllegalArgumentException if the shapes differ, the memory overlaps, or the target is read-only or keeps
     *     several positions in one element
     */
    public void copyTo(Tensor target) {
        Copy.elements(view, Checks.notNull(target, "target").view);
    }

    /**
     * Copies tensors into {@code target}, one after another along an axis, converting as {@link #copyTo} does.
     *
     * @param axis the axis of the target; negative counts from the end
     * @param target the destination, along the axis as long as all parts together; overlaps no part
     * @param parts any strides and element types, of the target's sizes along all other axes
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps, or the target is read-only or keeps several positions in one
     *     element; nothing is written
     */
    public static void concat(int axis, Tensor target, Tensor... parts) {
        View to = Checks.notNull(target, "target").view;
        View[] from = new View[Checks.notNull(parts, "parts").length];
        for (int i = 0; i < parts.length; i++) {
            from[i] = Checks.notNull(parts[i], "parts[" + i + "]").view;
        }
        Copy.concat(axis, to, from);
    }

    /**
     * Stores one value in every element of this view, rounded to {@link #dtype()}; memory between the elements does not change.
     *
     * @param value the number
     * @throws IllegalArgumentException if the memory is read-only, or elements share storage, as in a broadcast tensor
     */
    public void fill(double value) {
        Copy.fill(view, value);
    }

    /**
     * {@return a dense copy, converted to an element type}
     *
     * @param arena owns the new memory
     * @param as the element type of the copy
     */
    public Tensor copy(Arena arena, DType as) {
        Tensor result = allocate(arena, as, shape());
        copyTo(result);
        return result;
    }

    /**
     * Returns the elements as a new Java array, row-major, each rounded to f32.
     *
     * @return an array that the caller owns
     * @throws IllegalArgumentException if there are too many elements for an array
     */
    public float[] toArray() {
        float[] values = new float[Checks.fitsInt(shape().elements(), "elements")];
        copyTo(view(MemorySegment.ofArray(values), DType.F32, shape()));
        return values;
    }

    /**
     * Returns whether writing this tensor could change an element of {@code other}. Interleaved slices of one buffer, such as the
     * query, key and value parts of a fused projection, do not overlap.
     *
     * @param other another view
     * @return true unless the two tensors are known to share no element
     */
    public boolean overlaps(Tensor other) {
        return view.overlaps(Checks.notNull(other, "other").view);
    }

    /**
     * {@return whether two positions of this view may share one element, as after {@link #broadcast}; false when every element is known to
     * have its own storage}
     */
    public boolean overlapsItself() {
        return view.overlapsItself();
    }

    /** Returns the shape, element type and strides, but not the elements. */
    @Override
    public String toString() {
        return view.toString();
    }
}

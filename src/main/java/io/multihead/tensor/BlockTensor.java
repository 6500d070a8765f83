package io.multihead.tensor;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A row-major view of quantized weights in a {@link MemorySegment}: native, memory-mapped or a {@code byte[]}. Rows follow one
 * another; each is a whole number of blocks of one {@link BlockType}.
 *
 * <p>Like a {@link Tensor}, it does not own memory: the creator of the memory frees it. The view is immutable and thread-safe;
 * its bytes are plain memory.
 */
public final class BlockTensor {
    private final MemorySegment memory;
    private final BlockType type;
    private final Shape shape;
    private final long offset;
    private final long rowBytes;

    private BlockTensor(MemorySegment memory, BlockType type, Shape shape, long offset, long rowBytes) {
        this.memory = memory;
        this.type = type;
        this.shape = shape;
        this.offset = offset;
        this.rowBytes = rowBytes;
    }

    /**
     * Returns a view of blocks in memory.
     *
     * @param memory memory of the blocks; needs no alignment
     * @param type the type of the blocks
     * @param shape the sizes, outermost first, such as rows and columns; the last one is a multiple of {@link BlockType#elements}
     * @param offset byte of the memory at which the first block begins
     * @return the view, which shares the memory
     * @throws IllegalArgumentException if the shape has no axis, a row is not a whole number of blocks, or a block is outside the memory
     */
    public static BlockTensor view(MemorySegment memory, BlockType type, Shape shape, long offset) {
        Checks.notNull(memory, "memory");
        Checks.notNull(type, "type");
        long rowBytes = rowBytes("shape", type, Checks.notNull(shape, "shape"));
        long available = memory.byteSize() - Checks.atLeast(offset, 0, "offset");
        // divided first: the number of bytes may overflow even if the number of elements does not
        if (available < 0 || shape.elements() / type.elements() > available / type.bytes()) {
            throw Checks.fail(
                    "memory",
                    memory.byteSize() + " bytes",
                    "expected " + shape.elements() / type.elements() + " blocks of " + type.bytes()
                            + " bytes from byte " + offset + " on, for " + type + " " + shape);
        }
        return new BlockTensor(memory, type, shape, offset, rowBytes);
    }

    /**
     * Rounds weights to blocks, as ggml's reference does ({@code quantize_row_*_ref}), on the calling thread.
     *
     * <p>{@link BlockType#Q8_0}, {@link BlockType#Q4_0} and {@link BlockType#Q5_0} divide by a scale from the largest weight of a block,
     * {@link BlockType#Q4_1} and {@link BlockType#Q5_1} by a scale from the largest weight minus the smallest. The other types search for the
     * scales with the smallest weighted square error. The root mean square errors of normally distributed weights, relative to their root mean
     * square, are Q8_0 0.53 %, Q6_K 1.8 %, Q5_K 3.6 %, Q5_1 3.8 %, Q5_0 4.3 %, Q4_K 7.1 %, Q4_1 7.8 %, Q4_0 8.6 %, Q3_K 15 %, Q2_K 30 %.
     *
     * @param arena owns the memory of the blocks, aligned to 64 bytes
     * @param from the weights, at least one axis, any strides; the last size is a multiple of {@link BlockType#elements}; F64 is rounded to
     *     f32 first
     * @param type the type of the blocks
     * @return the blocks
     * @throws IllegalArgumentException if a row is not a whole number of blocks, a weight is NaN or infinite, or a block needs a scale or a
     *     minimum that f16 does not hold; weights below 500,000, or below 65,504 in Q4_1 and Q5_1, never need such a scale
     */
    public static BlockTensor quantize(Arena arena, Tensor from, BlockType type) {
        Checks.notNull(from, "from");
        Checks.notNull(type, "type");
        Checks.notNull(arena, "arena");
        long rowBytes = rowBytes("from", type, from.shape());
        // a tensor may repeat elements, so it may have more elements than its memory
        long rows = from.shape().elements() / Math.max(1, from.dim(-1));
        if (rowBytes > 0 && rows > Long.MAX_VALUE / rowBytes) {
            throw Checks.fail("from", "shape " + from.shape(), "expected fewer than 2^63 bytes of " + type);
        }
        int columns = Checks.fitsInt(from.dim(-1), "columns");
        MemorySegment memory = arena.allocate(rows * rowBytes, 64);
        BlockTensor blocks = new BlockTensor(memory, type, from.shape(), 0, rowBytes);
        if (from.shape().elements() > 0) {
            quantize(from, 0, blocks, new BlockQuantizer(), new float[columns]);
        }
        return blocks;
    }

    /** Rounds the rows of a tensor, through an array of one row, and stores them as the rows from {@code row} on. */
    private static long quantize(Tensor from, long row, BlockTensor to, BlockQuantizer quantizer, float[] values) {
        if (from.rank() > 1) {
            long next = row;
            for (long i = 0; i < from.dim(0); i++) {
                next = quantize(from.select(0, i), next, to, quantizer, values);
            }
            return next;
        }
        from.copyTo(Tensor.of(values));
        for (int i = 0; i < values.length; i++) {
            if (!Float.isFinite(values[i])) {
                throw Checks.fail("from", values[i] + " in row " + row + ", column " + i, "expected finite weights");
            }
        }
        long block = row * to.rowBytes;
        for (int i = 0; i < values.length; i += to.type.elements()) {
            quantizer.quantize(to.type, values, i, to.memory, block);
            block += to.type.bytes();
        }
        return row + 1;
    }

    /** Fails unless a row is a whole number of blocks. */
    private static long rowBytes(String argument, BlockType type, Shape shape) {
        if (shape.rank() == 0) {
            throw Checks.fail(argument, "shape " + shape, "expected rows and columns");
        }
        if (shape.dim(-1) % type.elements() != 0) {
            throw Checks.fail(
                    argument,
                    "shape " + shape,
                    "expected rows of a multiple of " + type.elements() + ", as " + type + " has blocks");
        }
        return shape.dim(-1) / type.elements() * type.bytes();
    }

    /** {@return the whole memory that this view was made from} */
    public MemorySegment memory() {
        return memory;
    }

    /** {@return the type of the blocks} */
    public BlockType type() {
        return type;
    }

    /** {@return the sizes in elements, outermost first} */
    public Shape shape() {
        return shape;
    }

    /** {@return the byte of {@link #memory} at which the first block begins} */
    public long offset() {
        return offset;
    }

    /** {@return the number of elements of a row: the last size} */
    public long columns() {
        return shape.dim(-1);
    }

    /** {@return the number of rows: the product of all sizes except the last} */
    public long rows() {
        return columns() == 0 ? 0 : shape.elements() / columns();
    }

    /** {@return the bytes of one row} */
    public long rowBytes() {
        return rowBytes;
    }

    /** {@return the bytes of all blocks} */
    public long bytes() {
        return rows() * rowBytes;
    }

    /**
     * Returns the part of this tensor with positions {@code from} to {@code to - 1} along the first axis, such as some of the rows.
     *
     * @param from first position
     * @param to one past the last position
     * @return a view of the same memory
     * @throws IllegalArgumentException unless there are two axes or more and {@code 0 <= from <= to <= shape().dim(0)}
     */
    public BlockTensor slice(long from, long to) {
        requireRows();
        if (from < 0 || from > to || to > shape.dim(0)) {
            throw Checks.fail("slice", from + " to " + to, "expected a range of axis 0 of shape " + shape);
        }
        long[] dims = shape.toArray();
        dims[0] = to - from;
        return new BlockTensor(memory, type, Shape.of(dims), offset + from * stepBytes(), rowBytes);
    }

    /**
     * Returns the part of this tensor at one position of the first axis, without that axis, such as one of several matrices.
     *
     * @param index the position
     * @return a view of the same memory, one rank lower
     * @throws IllegalArgumentException if there is only one axis, or the position is outside the first axis
     */
    public BlockTensor select(long index) {
        requireRows();
        Checks.index(index, shape.dim(0), "index");
        long[] dims = new long[shape.rank() - 1];
        System.arraycopy(shape.toArray(), 1, dims, 0, dims.length);
        return new BlockTensor(memory, type, Shape.of(dims), offset + index * stepBytes(), rowBytes);
    }

    /**
     * Stores the value of every element in a tensor.
     *
     * @param to a tensor of this shape, any strides and element type; f32 and f64 hold the values exactly, others round them to nearest
     * @throws IllegalArgumentException if the shape differs, the memory overlaps the blocks or is read-only, or elements share storage;
     *     nothing is written
     */
    public void dequantize(Tensor to) {
        if (!Checks.notNull(to, "to").shape().equals(shape)) {
            throw TensorFaults.shape("to", to.shape(), shape);
        }
        if (to.memory().isReadOnly()) {
            throw TensorFaults.readOnly("to");
        }
        if (to.overlapsItself()) {
            throw TensorFaults.sharedStorage("to", to);
        }
        if (to.overlaps(Tensor.view(memory.asSlice(offset, bytes()), DType.I8, Shape.of(bytes())))) {
            throw TensorFaults.overlap("to", to, "the blocks");
        }
        if (shape.elements() > 0) {
            dequantize(to, 0, Tensor.of(new float[Checks.fitsInt(columns(), "columns")]));
        }
    }

    /** Stores the rows from {@code row} on, as many as the tensor has, through an array of one row. */
    private long dequantize(Tensor to, long row, Tensor values) {
        if (to.rank() == 1) {
            dequantizeRow(row, (float[]) values.memory().heapBase().orElseThrow(), 0);
            values.copyTo(to);
            return row + 1;
        }
        long next = row;
        for (long i = 0; i < to.dim(0); i++) {
            next = dequantize(to.select(0, i), next, values);
        }
        return next;
    }

    /**
     * Stores the values of one row in an array, such as a token's row of a table. Allocates nothing.
     *
     * @param row the row, counted in row-major order if there are more than two axes
     * @param to receives {@link #columns} values
     * @param at index of the first value
     * @throws IllegalArgumentException if there is no such row, or the array has too few elements
     */
    public void dequantizeRow(long row, float[] to, int at) {
        Checks.index(row, rows(), "row");
        long room = Checks.notNull(to, "to").length - Checks.atLeast(at, 0, "at");
        if (room < columns()) {
            throw Checks.fail("to", to.length + " elements", "expected " + columns() + " from index " + at + " on");
        }
        long block = offset + row * rowBytes;
        for (int column = 0; column < columns(); column += type.elements()) {
            type.widen(memory, block, to, at + column);
            block += type.bytes();
        }
    }

    private void requireRows() {
        if (shape.rank() < 2) {
            throw Checks.fail("shape", shape.toString(), "expected two axes or more, since blocks are not divided");
        }
    }

    /** Returns the number of bytes between neighbors along the first axis. */
    private long stepBytes() {
        return shape.dim(0) == 0 ? 0 : bytes() / shape.dim(0);
    }

    /** Returns the type and the shape, but not the elements. */
    @Override
    public String toString() {
        return type + " " + shape;
    }
}

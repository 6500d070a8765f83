package io.multihead.gemm;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.VectorApiCheck;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.gemm.PackedMatrix;
import io.multihead.internal.gemm.PanelAccess;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A right operand that is packed once for many multiplications: a copy of the weights as panels in native memory, in one of the formats of {@link
 * WeightFormat}, columns rounded up to a multiple of 32. An arena of the caller may own the memory; close it after the last multiplication with the
 * weights. Otherwise the garbage collector frees the memory, and the JVM's limit of direct memory applies ({@code -XX:MaxDirectMemorySize}, else
 * {@code -Xmx}).
 *
 * <p>The name of the packing method states the order of the axes: {@code ofInputRows} takes {@code [inputs, outputs]}, the right operand of
 * a product, and {@code ofOutputRows} {@code [outputs, inputs]}, as PyTorch, safetensors and GGUF store weights.
 *
 * <p>Packed weights can be written to a file and mapped again. A process that maps the file starts without packing, and all such processes
 * share the memory of the file. The layout is the same for all processors and vector widths of little-endian machines; a later version of
 * the library may use another layout, and then refuses the file.
 *
 * <p>Immutable, thread-safe, and independent of the tensor that it was made from. A product with the weights has the same bits as a product
 * with the tensor, which is first rounded to the format if the format is narrower. A product with quantized blocks sums {@code q * a} in
 * f32 over the inputs that share a scale, multiplies each sum by its scale, and adds the results in ascending order ({@link
 * io.multihead.reference.Tolerance#blocks} has the bound). The bits are the same for any number of rows and threads and any lane width. If
 * a row of A has an infinity or NaN, or elements whose sum times 128 is not finite, results of that row may be NaN.
 */
public final class PackedWeights {
    private static final String OUTPUT_ROWS = "[outputs, inputs]";

    static {
        PanelAccess.open(new PanelAccess.Inside() {
            @Override
            public Tensor panels(Object weights) {
                return ((PackedWeights) weights).panels();
            }

            @Override
            public Object weights(Tensor panels, Object format, long inputs, long outputs) {
                return ofPanels(panels, (WeightFormat) format, inputs, outputs);
            }
        });
    }

    private final PackedMatrix matrix;

    private PackedWeights(PackedMatrix matrix) {
        this.matrix = matrix;
    }

    /**
     * Packs a matrix whose rows are inputs, as in a product {@code x matrix}.
     *
     * @param matrix {@code [inputs, outputs]}, any element type and strides
     * @return the packed copy
     * @throws IllegalArgumentException if the matrix does not have two axes, 512 of its rows have more than 2^31 elements, or it has more
     *     than 2^40 rows
     * @throws OutOfMemoryError if the JVM has too little direct memory
     */
    public static PackedWeights ofInputRows(Tensor matrix) {
        return ofInputRows(Arena.ofAuto(), matrix, WeightFormat.F32);
    }

    /**
     * Packs a matrix whose rows are inputs, as f32 into memory of an arena.
     *
     * @param arena allocates native memory; a shared arena if several threads multiply with the weights
     * @param matrix {@code [inputs, outputs]}, any element type and strides
     * @return the packed copy
     * @throws IllegalArgumentException as {@link #ofInputRows(Tensor)} does
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static PackedWeights ofInputRows(Arena arena, Tensor matrix) {
        return ofInputRows(arena, matrix, WeightFormat.F32);
    }

    /**
     * Packs a matrix whose rows are inputs, in a format, into memory of an arena, which the JVM's flags do not limit. Each element is
     * rounded to the nearest value of the format, ties to even; an f64 element is rounded to f32 first. Nothing is lost if the matrix has
     * the format's type. The weights must not be used after the arena is closed.
     *
     * @param arena allocates native memory; a shared arena if several threads multiply with the weights
     * @param matrix {@code [inputs, outputs]}, any element type and strides
     * @param format the format of the elements; blocks are rounded by {@link BlockTensor#quantize}
     * @return the packed copy
     * @throws IllegalArgumentException if the matrix does not have two axes, 512 of its rows have more than 2^31 elements, it has more than
     *     2^40 rows, its rows are not a whole number of blocks, or the format cannot hold an element: F16 and blocks hold only finite
     *     elements
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static PackedWeights ofInputRows(Arena arena, Tensor matrix, WeightFormat format) {
        return of(requireMatrix(matrix, "[inputs, outputs]"), format, arena, PackedMatrix.Loop.SERIAL);
    }

    /**
     * Packs a matrix as {@link #ofInputRows(Arena, Tensor, WeightFormat)} does, with the same bits, on the threads of a Compute.
     *
     * @param cpu threads
     * @param arena allocates native memory; a shared or automatic arena if the Compute has several threads
     * @param matrix {@code [inputs, outputs]}, any element type and strides, in memory that all threads may read
     * @param format the format of the elements
     * @return the packed copy
     * @throws IllegalArgumentException under the same conditions as the named method, or if the matrix or the arena is confined to this
     *     thread and there are several threads
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static PackedWeights ofInputRows(Compute cpu, Arena arena, Tensor matrix, WeightFormat format) {
        requireAccess(cpu, Checks.notNull(matrix, "matrix").memory(), "matrix", arena);
        return of(requireMatrix(matrix, "[inputs, outputs]"), format, arena, on(cpu));
    }

    /**
     * Packs a matrix whose rows are outputs, as in the weights of PyTorch's linear layers and of files. The result is
     * the same as {@link #ofInputRows(Tensor) ofInputRows(matrix.permute(1, 0))}.
     *
     * @param matrix {@code [outputs, inputs]}, any element type and strides
     * @return the packed copy
     * @throws IllegalArgumentException under the same conditions as the named method
     * @throws OutOfMemoryError if the JVM has too little direct memory
     */
    public static PackedWeights ofOutputRows(Tensor matrix) {
        return ofOutputRows(Arena.ofAuto(), matrix, WeightFormat.F32);
    }

    /**
     * Packs a matrix whose rows are outputs, as f32 into memory of an arena.
     *
     * @param arena allocates native memory; a shared arena if several threads multiply with the weights
     * @param matrix {@code [outputs, inputs]}, any element type and strides
     * @return the packed copy
     * @throws IllegalArgumentException as {@link #ofOutputRows(Tensor)} does
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static PackedWeights ofOutputRows(Arena arena, Tensor matrix) {
        return ofOutputRows(arena, matrix, WeightFormat.F32);
    }

    /**
     * Packs a matrix whose rows are outputs, in a format, into memory of an arena, as {@link #ofInputRows(Arena, Tensor, WeightFormat)
     * ofInputRows(matrix.permute(1, 0), format, arena)} does.
     *
     * @param arena allocates native memory; a shared arena if several threads multiply with the weights
     * @param matrix {@code [outputs, inputs]}, any element type and strides
     * @param format the format of the elements
     * @return the packed copy
     * @throws IllegalArgumentException under the same conditions as the named method
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static PackedWeights ofOutputRows(Arena arena, Tensor matrix, WeightFormat format) {
        return of(requireMatrix(matrix, OUTPUT_ROWS).permute(1, 0), format, arena, PackedMatrix.Loop.SERIAL);
    }

    /**
     * Packs a matrix as {@link #ofOutputRows(Arena, Tensor, WeightFormat)} does, with the same bits, on the threads of a Compute.
     *
     * @param cpu threads
     * @param arena allocates native memory; a shared or automatic arena if the Compute has several threads
     * @param matrix {@code [outputs, inputs]}, any element type and strides, in memory that all threads may read
     * @param format the format of the elements
     * @return the packed copy
     * @throws IllegalArgumentException under the same conditions as the named method, or if the matrix or the arena is confined to this
     *     thread and there are several threads
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static PackedWeights ofOutputRows(Compute cpu, Arena arena, Tensor matrix, WeightFormat format) {
        requireAccess(cpu, Checks.notNull(matrix, "matrix").memory(), "matrix", arena);
        return of(requireMatrix(matrix, OUTPUT_ROWS).permute(1, 0), format, arena, on(cpu));
    }

    /**
     * Packs quantized blocks without loss: rows of blocks are outputs, as in GGUF. The blocks may be in mapped memory, and are
     * not used after the call. The weights must not be used after the arena is closed.
     *
     * @param arena allocates native memory; a shared arena if several threads multiply with the weights
     * @param blocks {@code [outputs, inputs]}
     * @return the packed copy
     * @throws IllegalArgumentException if the tensor does not have two axes, 512 times its number of rows is above 2^31, or a scale is not
     * finite
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static PackedWeights ofOutputRows(Arena arena, BlockTensor blocks) {
        return of(blocks, arena, PackedMatrix.Loop.SERIAL);
    }

    /**
     * Packs quantized blocks as {@link #ofOutputRows(Arena, BlockTensor)} does, on the threads of a Compute.
     *
     * @param cpu threads
     * @param arena allocates native memory; a shared or automatic arena if the Compute has several threads
     * @param blocks {@code [outputs, inputs]}, in memory that all threads may read: of a shared or automatic arena, or on the heap
     * @return the packed copy
     * @throws IllegalArgumentException under the same conditions as the named method, or if the blocks or the arena are confined to this
     *     thread and there are several threads
     * @throws OutOfMemoryError if the system has too little memory
     */
    public static PackedWeights ofOutputRows(Compute cpu, Arena arena, BlockTensor blocks) {
        requireAccess(cpu, Checks.notNull(blocks, "blocks").memory(), "blocks", arena);
        return of(blocks, arena, on(cpu));
    }

    private static PackedMatrix.Loop on(Compute cpu) {
        return (tasks, body) -> RowLoop.run(cpu, tasks, (task, scratch) -> body.accept(task));
    }

    /** Fails unless all threads may read the numbers and write to memory of the arena. */
    private static void requireAccess(Compute cpu, MemorySegment numbers, String argument, Arena arena) {
        Execution execution = Operation.execution(cpu);
        execution.requireAccess(numbers, argument);
        execution.requireAccess(Checks.notNull(arena, "arena"), "arena");
    }

    private static Tensor requireMatrix(Tensor matrix, String axes) {
        VectorApiCheck.requireVectorModule();
        if (Checks.notNull(matrix, "matrix").rank() != 2) {
            throw Checks.fail("matrix", "shape " + matrix.shape(), "expected two axes " + axes);
        }
        return matrix;
    }

    /** Packs a matrix {@code [inputs, outputs]}. */
    private static PackedWeights of(Tensor matrix, WeightFormat format, Arena arena, PackedMatrix.Loop loop) {
        PanelFormat panels = Checks.notNull(format, "format").panels;
        Checks.notNull(arena, "arena");
        if (matrix.dim(1) > PackedMatrix.MOST_COLUMNS) {
            throw Checks.fail("matrix", matrix.dim(1) + " outputs", "expected at most " + PackedMatrix.MOST_COLUMNS);
        }
        PackedMatrix.requireSizes(panels, matrix.dim(0), matrix.dim(1));
        if (panels.isQuantized()) {
            BlockType type = BlockType.valueOf(format.name());
            return new PackedWeights(PackedMatrix.rounded(panels, type, matrix, arena, loop));
        }
        return new PackedWeights(PackedMatrix.of(panels, matrix, arena, loop));
    }

    private static PackedWeights of(BlockTensor blocks, Arena arena, PackedMatrix.Loop loop) {
        VectorApiCheck.requireVectorModule();
        if (Checks.notNull(blocks, "blocks").shape().rank() != 2) {
            throw Checks.fail("blocks", blocks.toString(), "expected two axes " + OUTPUT_ROWS);
        }
        PanelFormat panels = WeightFormat.of(blocks.type()).panels;
        Checks.notNull(arena, "arena");
        PackedMatrix.requireSizes(panels, blocks.shape().dim(1), blocks.shape().dim(0));
        return new PackedWeights(PackedMatrix.of(panels, blocks, arena, loop));
    }

    /**
     * Returns these weights for products that round their inputs to 8 bits, like the products of llama.cpp. A product of one row and 8192
     * outputs takes four fifths of the time. Small matrices gain less, since rounding a row takes as long as about 64 outputs.
     *
     * <p>In each group of 32 elements of a row of A, the largest magnitude becomes 127, and the others become the nearest integer, ties to
     * even. The error of each element is at most 1/254 of the largest. For random values, the error of a product is half a percent of its
     * standard deviation. Products of integers are exact, so results have the same bits for any number of rows and threads and any lane
     * width ({@link io.multihead.reference.Tolerance#roundedBlocks} has the bound of the result's error).
     *
     * @return weights that share this memory; {@link #write} writes these panels, but not the rounding of inputs
     * @throws IllegalArgumentException unless {@link WeightFormat#allowsEightBitInputs}
     */
    public PackedWeights withEightBitInputs() {
        if (!format().allowsEightBitInputs()) {
            throw Checks.fail("weights", "format " + format(), "expected Q4_0, Q4_1 or Q4_K for inputs in 8 bits");
        }
        return new PackedWeights(matrix.ofRoundedInputs());
    }

    /**
     * Returns weights of only some outputs: copies of their columns in the stored format, so that products have the same bits.
     *
     * @param arena allocates native memory; a shared arena if several threads multiply with the weights
     * @param outputs numbers of columns, in the desired order
     * @return weights of the same format and with the same rounding of inputs
     * @throws IllegalArgumentException if there is no such column
     */
    public PackedWeights selectOutputs(Arena arena, int... outputs) {
        Checks.notNull(arena, "arena");
        Checks.indices(outputs, outputs(), "outputs");
        return new PackedWeights(matrix.selectColumns(arena, outputs));
    }

    /**
     * Returns weights of only some inputs: copies of their rows in the stored format. Inputs of one block share scales, so they must stay
     * together.
     *
     * @param arena allocates native memory; a shared arena if several threads multiply with the weights
     * @param inputs numbers of rows, in the desired order
     * @return weights of the same format and with the same rounding of inputs
     * @throws IllegalArgumentException if there is no such row, or rows are not whole blocks ({@link
     *     WeightFormat#areWholeBlocks})
     */
    public PackedWeights selectInputs(Arena arena, int... inputs) {
        Checks.notNull(arena, "arena");
        Checks.indices(inputs, inputs(), "inputs");
        WeightFormat format = format();
        if (!format.areWholeBlocks(inputs)) {
            throw Checks.fail(
                    "inputs",
                    inputs.length + " rows",
                    "expected whole blocks of " + format.blockInputs() + ", as " + format + " has them");
        }
        int[] blocks = new int[inputs.length / format.blockInputs()];
        Arrays.setAll(blocks, i -> inputs[i * format.blockInputs()] / format.blockInputs());
        return new PackedWeights(matrix.selectRows(arena, blocks));
    }

    /**
     * Returns the elements, which f32 holds without loss. Elements of Q4_1, Q5_1, Q4_K and Q5_K are rounded once, as in {@link
     * BlockTensor#dequantize}.
     *
     * @param arena owns the copy
     * @return {@code [inputs, outputs]}, dense f32
     */
    public Tensor unpack(Arena arena) {
        Checks.notNull(arena, "arena");
        Tensor elements = Tensor.allocate(arena, DType.F32, Shape.of(inputs(), outputs()));
        matrix.unpack(elements);
        return elements;
    }

    /**
     * Writes the panels to a file that {@link #map} maps. They are written to a temporary file in the same folder, which then replaces the
     * file atomically. Therefore a crash leaves either the old file or the new one.
     *
     * @param file the file to write
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException if the path has no file name
     */
    public void write(Path file) throws IOException {
        PackedFile.write(file, matrix);
    }

    /**
     * Maps a file that {@link #write} wrote. Nothing is packed or copied: pages of the file are read when they are first used, and all
     * processes that map the file share them. The file must not be changed in place while it is mapped; {@link #write}
     * replaces it. A file on a file system other than the default one, such as inside an archive, is read into native memory
     * instead.
     *
     * @param arena owns the mapping or the memory; a shared or automatic arena if several threads multiply
     * @param file the file
     * @return the weights
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if its header has another layout, or its sizes do not match the file; the message names the file and the field
     */
    public static PackedWeights map(Arena arena, Path file) throws IOException {
        VectorApiCheck.requireVectorModule();
        return new PackedWeights(PackedFile.map(file, arena));
    }

    /** Returns one axis of {@link #panelElements} elements of the format's type, read-only: the memory that products read. */
    Tensor panels() {
        WeightFormat format = format();
        Shape shape = Shape.of(panelElements(format, inputs(), outputs()));
        return Tensor.view(matrix.segment().asReadOnly(), format.dtype, shape);
    }

    /** Returns the number of elements of {@link #panels()}, or fails if a size is negative or more than a matrix can have. */
    static long panelElements(WeightFormat format, long inputs, long outputs) {
        PanelFormat panels = format.panels;
        PackedMatrix.requireSizes(panels, inputs, outputs);
        return PackedMatrix.bytes(panels, inputs, outputs) / format.dtype.bytes();
    }

    /**
     * Returns weights with existing panels of {@link #panels()}, without a copy. Elements of F16 panels that are not finite give other
     * results in a product of a few rows than in a product of many.
     *
     * @param panels in native memory that begins on a multiple of 64 bytes, like panels that are the first tensors of a mapped file of
     *     {@link io.multihead.format.Safetensors#write}; not changed while the weights are used
     */
    static PackedWeights ofPanels(Tensor panels, WeightFormat format, long inputs, long outputs) {
        VectorApiCheck.requireVectorModule();
        DType dtype = format.dtype;
        Shape expected = Shape.of(panelElements(format, inputs, outputs));
        if (panels.dtype() != dtype || !panels.isDense() || !panels.shape().equals(expected)) {
            throw Checks.fail(
                    "panels",
                    panels.toString(),
                    "expected dense " + dtype + " " + expected + " for " + inputs + " inputs and " + outputs
                            + " outputs");
        }
        long bytes = expected.elements() * dtype.bytes();
        MemorySegment memory = panels.memory().asSlice(panels.offset() * dtype.bytes(), bytes);
        return new PackedWeights(PackedMatrix.in(format.panels, memory, inputs, (int) outputs));
    }

    /** {@return the format of the elements} */
    public WeightFormat format() {
        return WeightFormat.of(matrix.format());
    }

    /** {@return the bytes of native memory that the weights take} */
    public long bytes() {
        return matrix.segment().byteSize();
    }

    /** {@return the number of inputs: rows of the matrix} */
    public long inputs() {
        return matrix.k();
    }

    /** {@return the number of outputs: columns of the matrix} */
    public long outputs() {
        return matrix.n();
    }

    PackedMatrix matrix() {
        return matrix;
    }
}

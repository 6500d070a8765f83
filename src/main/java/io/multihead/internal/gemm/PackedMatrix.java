package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.BlockCopy;
import io.multihead.internal.layout.BlockPacker;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.PanelPacker;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.RoundingPacker;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.layout.StridedBlock;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.IntUnaryOperator;
import java.util.function.LongConsumer;
import java.util.function.LongUnaryOperator;

/** All of B as panels of one format: the depth blocks of {@link Blocking#KC} rows one after another in one memory. Immutable. */
public final class PackedMatrix {
    /** The largest number of columns, since an {@code int} addresses a depth block of whole panels. */
    public static final long MOST_COLUMNS = Checks.MAX_ARRAY_LENGTH / KC - (Lanes.PANEL - 1);

    /** The largest number of rows, since the number of depth blocks is an {@code int}. */
    private static final long MOST_ROWS = (long) Integer.MAX_VALUE * KC - 1;

    /** The largest number of bytes of panels, so that these bytes and a header before them fit in a {@code long}. */
    private static final long MOST_BYTES = Long.MAX_VALUE / 2;

    /** The number of rows of blocks that a task packs, as whole panels. */
    private static final int ROWS_OF_TASK = 4 * Lanes.PANEL;

    private final PanelFormat format;
    private final long k;
    private final int n;
    private final MemorySegment memory;
    private final boolean roundsInputs;
    private final PanelMemory[] blocks;

    private PackedMatrix(PanelFormat format, long k, int n, MemorySegment memory) {
        this(format, k, n, memory, false);
    }

    private PackedMatrix(PanelFormat format, long k, int n, MemorySegment memory, boolean roundsInputs) {
        this.roundsInputs = roundsInputs;
        this.format = format;
        this.k = k;
        this.n = n;
        this.memory = memory;
        blocks = new PanelMemory[blocks(k, n)];
        for (int i = 0; i < blocks.length; i++) {
            long pc = (long) i * KC;
            MemorySegment block = memory.asSlice(bytes(format, pc, n), bytes(format, Math.min(KC, k - pc), n));
            blocks[i] = PanelMemory.of(format, block, "panels");
        }
    }

    /** Returns a text that identifies the storage of panels, for files that contain them. Another layout has another number. */
    public static String layout() {
        return "f32 panels of " + Lanes.PANEL + " columns, depth blocks of " + KC + " rows";
    }

    /** Fails unless a matrix of a format can have this number of rows and columns. */
    public static void requireSizes(PanelFormat format, long inputs, long outputs) {
        if (inputs < 0 || inputs > MOST_ROWS) {
            throw Checks.fail("inputs", String.valueOf(inputs), "expected 0 to " + MOST_ROWS);
        }
        if (outputs < 0 || outputs > MOST_COLUMNS) {
            throw Checks.fail("outputs", String.valueOf(outputs), "expected 0 to " + MOST_COLUMNS);
        }
        if (inputs % format.blockRows() != 0) {
            throw Checks.fail(
                    "inputs",
                    String.valueOf(inputs),
                    "expected a multiple of " + format.blockRows() + ", the block of " + format);
        }
        long row = bytes(PanelFormat.F32, 1, outputs); // no format takes more bytes
        if (row > 0 && inputs > MOST_BYTES / row) {
            throw Checks.fail(
                    "inputs",
                    String.valueOf(inputs),
                    "expected at most " + MOST_BYTES / row + " with " + outputs + " outputs");
        }
    }

    /** Runs the tasks of packing, one after another or on several threads. */
    public interface Loop {
        /** Runs tasks one after another on the calling thread. */
        Loop SERIAL = (tasks, body) -> {
            for (long task = 0; task < tasks; task++) {
                body.accept(task);
            }
        };

        /** Runs the tasks from 0 to {@code tasks - 1}, in any order. */
        void run(long tasks, LongConsumer body);
    }

    /**
     * Packs a matrix {@code [k, n]} of sizes that {@link #requireSizes} accepts, rounding each element to the format. A task is a depth
     * block.
     *
     * @throws IllegalArgumentException if the format is F16 and an element is not finite in it; the message begins with "matrix"
     */
    public static PackedMatrix of(PanelFormat format, Tensor matrix, Arena arena, Loop loop) {
        long k = matrix.dim(0);
        int n = (int) matrix.dim(1);
        PackedMatrix packed = new PackedMatrix(format, k, n, PanelMemory.segment(arena, bytes(format, k, n)));
        loop.run(packed.blocks.length, block -> packed.pack(matrix, (int) block));
        return packed;
    }

    private void pack(Tensor matrix, int number) {
        try (Scratch scratch = new Scratch()) {
            Packer packer = new Packer(scratch);
            PanelPacker panelPacker = PanelPacker.ofWeights(scratch);
            StridedBlock block = new StridedBlock();
            long pc = (long) number * KC;
            int kc = (int) Math.min(KC, k - pc);
            block.matrix(matrix, matrix.offset(), pc, 0);
            if (format == PanelFormat.F32) {
                panelPacker.pack(packer, block, kc, n, blocks[number], 0);
            } else {
                new RoundingPacker(scratch, packer, panelPacker).pack(block, kc, n, blocks[number], pc);
            }
        }
    }

    /**
     * Packs blocks of ggml, whose rows are the columns of the matrix, without loss. A task is a few panels of all depth blocks, so that it
     * reads whole rows one after another.
     *
     * @throws IllegalArgumentException if a scale is not finite; the message begins with "blocks"
     */
    public static PackedMatrix of(PanelFormat format, BlockTensor tensor, Arena arena, Loop loop) {
        long k = tensor.columns();
        int n = (int) tensor.shape().dim(0); // this size is defined even if the tensor has no elements
        PackedMatrix packed = new PackedMatrix(format, k, n, PanelMemory.segment(arena, bytes(format, k, n)));
        loop.run(Math.ceilDiv(n, ROWS_OF_TASK), task -> packed.pack(tensor, 0, (int) task * ROWS_OF_TASK));
        return packed;
    }

    /**
     * Rounds a matrix {@code [k, n]} of sizes that {@link #requireSizes} accepts to blocks, as {@link BlockTensor#quantize} does, and packs
     * them. A task is a few panels of all depth blocks, whose blocks take additional memory during the task.
     *
     * @throws IllegalArgumentException if an element is not finite or too large; the message begins with "matrix"
     */
    public static PackedMatrix rounded(PanelFormat format, BlockType type, Tensor matrix, Arena arena, Loop loop) {
        long k = matrix.dim(0);
        int n = (int) matrix.dim(1);
        PackedMatrix packed = new PackedMatrix(format, k, n, PanelMemory.segment(arena, bytes(format, k, n)));
        Tensor rows = matrix.transpose(0, 1);
        loop.run(Math.ceilDiv(n, ROWS_OF_TASK), task -> packed.round(type, rows, (int) task * ROWS_OF_TASK));
        return packed;
    }

    private void round(BlockType type, Tensor rows, int first) {
        int end = Math.min(n, first + ROWS_OF_TASK);
        try (Arena arena = Arena.ofConfined()) {
            Tensor some = rows.slice(0, first, end);
            BlockTensor blocks = Checks.in(
                    "matrix, outputs " + first + " to " + (end - 1), () -> BlockTensor.quantize(arena, some, type));
            pack(blocks, first, first);
        }
    }

    /** Packs the panels of a task from rows of a tensor, whose first row has index {@code start}. */
    private void pack(BlockTensor tensor, int start, int first) {
        BlockPacker packer = new BlockPacker(format.blocks(), tensor, start);
        int end = Math.min(n, first + ROWS_OF_TASK);
        for (int row = first; row < end; row += Lanes.PANEL) {
            int rows = Math.min(Lanes.PANEL, end - row);
            for (int i = 0; i < blocks.length; i++) {
                long pc = (long) i * KC;
                packer.pack(row, rows, pc, (int) Math.min(KC, k - pc), blocks[i]);
            }
        }
    }

    /** Writes all elements, widened, to a tensor {@code [k, n]}. */
    public void unpack(Tensor to) {
        try (Scratch scratch = new Scratch()) {
            Packer packer = new Packer(scratch);
            PlainBlocks quantized = new PlainBlocks(scratch);
            for (int i = 0; i < blocks.length; i++) {
                long pc = (long) i * KC;
                int kc = (int) Math.min(KC, k - pc);
                for (int jc = 0; jc < n; jc += Lanes.PANEL) {
                    float[] rows = widen(i, jc, packer, quantized);
                    long at = to.offset() + pc * to.stride(0) + jc * to.stride(1);
                    int columns = Math.min(Lanes.PANEL, n - jc);
                    packer.write(rows, 0, Lanes.PANEL, kc, columns, to, at, to.stride(0), to.stride(1));
                }
            }
        }
    }

    /**
     * Widens a panel.
     *
     * @param block number of the depth block
     * @param column the first column of the panel
     * @return rows of 32 elements, in the packer's memory until it packs or widens again
     */
    float[] widen(int block, int column, Packer packer, PlainBlocks quantized) {
        int kc = (int) Math.min(KC, k - (long) block * KC);
        int panel = column / Lanes.PANEL * format.panelSize(kc);
        float[] rows = packer.panel(kc);
        if (format.isQuantized()) {
            quantized.unpack(format.blocks(), blocks[block].segment(), format.offset(panel), kc, rows);
        } else {
            packer.widen(blocks[block], panel, kc, rows);
        }
        return rows;
    }

    /** Returns a matrix of some columns, with copies of their elements in the stored format. */
    public PackedMatrix selectColumns(Arena arena, int... columns) {
        return select(arena, k / format.blockRows(), i -> i, columns.length, j -> columns[j]);
    }

    /**
     * Returns a matrix of some rows, with copies of their elements in the stored format.
     *
     * @param rowBlocks numbers of blocks of {@link PanelFormat#blockRows} rows
     */
    public PackedMatrix selectRows(Arena arena, int... rowBlocks) {
        return select(arena, rowBlocks.length, i -> rowBlocks[(int) i], n, j -> j);
    }

    private PackedMatrix select(
            Arena arena, long rowBlocks, LongUnaryOperator rowBlock, int columns, IntUnaryOperator column) {
        long rows = rowBlocks * format.blockRows();
        requireSizes(format, rows, columns);
        MemorySegment segment = PanelMemory.segment(arena, bytes(format, rows, columns));
        PackedMatrix some = new PackedMatrix(format, rows, columns, segment, roundsInputs);
        BlockCopy copy = new BlockCopy(format);
        for (int j = 0; j < columns; ) {
            int together = together(j, columns, column);
            for (long i = 0; i < rowBlocks; i++) {
                copy.copy(place(rowBlock.applyAsLong(i), column.applyAsInt(j)), some.place(i, j), together);
            }
            j += together;
        }
        return some;
    }

    /**
     * Returns the number of selected columns, from column {@code j} on, that are adjacent within a panel, both in the source and in the
     * target.
     */
    private static int together(int j, int columns, IntUnaryOperator column) {
        int first = column.applyAsInt(j);
        int most = Math.min(columns - j, Lanes.PANEL - Math.max(j % Lanes.PANEL, first % Lanes.PANEL));
        int count = 1;
        while (count < most && column.applyAsInt(j + count) == first + count) {
            count++;
        }
        return count;
    }

    private BlockCopy.Place place(long rowBlock, int column) {
        int blocksOfDepth = KC / format.blockRows();
        int number = (int) (rowBlock / blocksOfDepth);
        int depth = (int) Math.min(KC, k - (long) number * KC);
        return new BlockCopy.Place(blocks[number], depth, (int) (rowBlock % blocksOfDepth), column);
    }

    /** Returns the matrix whose panels, all blocks in order, are in memory of the caller, which must have their size. */
    public static PackedMatrix in(PanelFormat format, MemorySegment panels, long k, int n) {
        return new PackedMatrix(format, k, n, panels);
    }

    /** Returns the same matrix for products whose rows are rounded to 8 bits; the format must have 4 bits. */
    public PackedMatrix ofRoundedInputs() {
        return new PackedMatrix(format, k, n, memory, true);
    }

    /** Returns whether rows are rounded to 8 bits before they are multiplied. */
    boolean roundsInputs() {
        return roundsInputs;
    }

    /**
     * Returns the number of depth blocks: none if there are no columns. Rows without columns take no memory, so a file may state any number
     * of them.
     */
    private static int blocks(long k, int n) {
        return n == 0 ? 0 : (int) Math.ceilDiv(k, (long) KC);
    }

    /** Returns the bytes of the panels of {@code k} rows, whole blocks of the format, and {@code n} columns. */
    public static long bytes(PanelFormat format, long k, long n) {
        return format.bytes(k, Math.ceilDiv(n, (long) Lanes.PANEL));
    }

    /** Returns the format in which elements are stored. */
    public PanelFormat format() {
        return format;
    }

    public MemorySegment segment() {
        return memory;
    }

    public long k() {
        return k;
    }

    public int n() {
        return n;
    }

    /**
     * Sets an operand to the panels of one depth block.
     *
     * @param pc first row, a multiple of {@link Blocking#KC}
     * @param jc first column, a multiple of {@link Blocking#NR}
     */
    public void block(long pc, int kc, long jc, Panels to) {
        to.set(blocks[(int) (pc / KC)], (int) jc * kc, format.panelSize(kc));
    }
}

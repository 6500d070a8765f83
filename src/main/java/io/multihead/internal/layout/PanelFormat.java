package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.HalfPanels;
import io.multihead.internal.kernel.Int8Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import org.jspecify.annotations.Nullable;

/**
 * The storage of the elements of panels. Positions and sizes count elements, row by row, independently of the size of an element: {@code
 * [panel][k][32]}.
 *
 * <p>A new format of 16 or 8 bits is a constant here, with its cases in {@link PanelMemory} and {@link DTypeCodec} and, if few rows must be
 * read at the speed of memory, a tile that widens it in registers. A new format of blocks is a row of the table {@link BlockPanels}.
 */
public enum PanelFormat {
    /** f32, which every tile reads. */
    F32(1, PANEL * Float.BYTES, Float.MAX_VALUE),
    /** bf16 as in {@link HalfPanels}. */
    BF16(1, PANEL * Short.BYTES, 0x1.fep127f),
    /** f16 as in {@link HalfPanels}. */
    F16(1, PANEL * Short.BYTES, 65504f),
    /** int8 as in {@link Int8Panels}, with an f32 scale per row that is stored separately from the panels. */
    INT8(Int8Panels.ROWS, Int8Panels.ROWS * PANEL, Float.MAX_VALUE),
    /** Blocks of ggml in the layout of {@link BlockPanels}; only for weights, like all formats below. */
    Q8_0(BlockType.Q8_0),
    Q4_0(BlockType.Q4_0),
    Q4_1(BlockType.Q4_1),
    Q5_0(BlockType.Q5_0),
    Q5_1(BlockType.Q5_1),
    Q4_K(BlockType.Q4_K),
    Q5_K(BlockType.Q5_K),
    Q6_K(BlockType.Q6_K),
    Q3_K(BlockType.Q3_K),
    Q2_K(BlockType.Q2_K),
    MXFP4(BlockType.MXFP4),
    IQ4_NL(BlockType.IQ4_NL),
    IQ4_XS(BlockType.IQ4_XS);

    private static final float MOST_BYTE = 127f;
    /** The largest scale whose multiples up to 127 are all finite; {@code Float.MAX_VALUE / 127} is rounded up. */
    private static final float MOST_SCALE = Math.nextDown(Float.MAX_VALUE / MOST_BYTE);

    private static final float LARGEST_FINITE_SCALE = Float.MAX_VALUE / 128f;

    /** The number of rows that are stored together. */
    private final int blockRows;
    /** The bytes of these rows in one panel; 0 for quantized blocks. */
    private final int denseBytes;
    /** Binary logarithm of the elements of a block. */
    private final int blockBits;

    /** The largest finite element of the format; for INT8, whose rows have scales, the largest f32. */
    private final float largest;

    /** The type of quantized blocks; null for other formats. */
    private final @Nullable BlockType type;

    PanelFormat(BlockType type) {
        this(type.elements(), 0, Float.MAX_VALUE, type);
    }

    PanelFormat(int blockRows, int denseBytes, float largest) {
        this(blockRows, denseBytes, largest, null);
    }

    PanelFormat(int blockRows, int denseBytes, float largest, @Nullable BlockType type) {
        this.blockRows = blockRows;
        this.denseBytes = denseBytes;
        blockBits = Integer.numberOfTrailingZeros(blockRows * PANEL);
        this.largest = largest;
        this.type = type;
    }

    private int blockBytes() {
        return type == null ? denseBytes : BlockPanels.of(type).bytes();
    }

    /** Returns the format that stores elements of a type, except F64, without loss. */
    public static PanelFormat of(DType dtype) {
        return switch (dtype) {
            case F32 -> F32;
            case BF16 -> BF16;
            case F16 -> F16;
            case I8 -> INT8;
            case F64 -> throw new IllegalArgumentException("dtype: " + dtype + "; expected f32 or narrower");
        };
    }

    public int bytes() {
        return blockBytes() >> blockBits;
    }

    /** Returns the number of rows that are stored together. Other depths are rounded up to whole blocks, as in INT8, or refused. */
    public int blockRows() {
        return blockRows;
    }

    /** Returns the number of rows that a panel of depth {@code depth} stores: INT8 rounds up to whole groups of interleaved rows. */
    public int rows(int depth) {
        return Lanes.roundUp(depth, blockRows);
    }

    /** Returns {@link #rows} for a depth that was not checked yet. */
    public long rowsOf(long depth) {
        return Math.ceilDiv(depth, (long) blockRows) * blockRows;
    }

    /** Returns the number of elements of one panel of depth {@code depth}, which is the distance from panel to panel. */
    public int panelSize(int depth) {
        return rows(depth) * PANEL;
    }

    /** Returns whether each row is divided by its own scale before it is stored. */
    public boolean isScaled() {
        return this == INT8;
    }

    /** Returns the largest number of rows of A that can read panels in their stored form; more rows need panels widened to F32. */
    public int maxRowsInRegisters() {
        return this == F32 ? Integer.MAX_VALUE : MicroKernel.MR_SMALL;
    }

    /** Returns whether tiles that widen elements in registers need them to be finite. */
    public boolean needsFinite() {
        return this == F16;
    }

    /**
     * Returns whether no element is NaN or exceeds the largest finite element of the format. It returns false also for elements slightly
     * above this element, which are rounded down to it.
     */
    public boolean isFinite(float[] row, int at, int length) {
        boolean finite = true;
        for (int i = 0; i < length; i++) {
            finite &= Math.abs(row[at + i]) <= largest;
        }
        return finite;
    }

    /**
     * Returns whether every byte times the scale is finite, including -128. It returns false also for the largest scales of {@link
     * #quantize}, although {@link #quantize} stores no -128 and its products are finite.
     */
    public static boolean isFiniteScale(float scale) {
        return Math.abs(scale) <= LARGEST_FINITE_SCALE;
    }

    /**
     * Divides a row by its scale and rounds it to integers of a byte, in place.
     *
     * @return the scale: the largest absolute element divided by 127; NaN if an element is not finite
     */
    public static float quantize(float[] row, int at, int length) {
        float largest = 0f;
        for (int i = 0; i < length; i++) {
            largest = Math.max(largest, Math.abs(row[at + i]));
        }
        boolean finite = largest <= Float.MAX_VALUE;
        float scale = finite ? Math.min(largest / MOST_BYTE, MOST_SCALE) : Float.NaN;
        boolean usable = scale > 0f;
        for (int i = 0; i < length; i++) {
            row[at + i] = usable ? (float) Math.clamp(Math.rint(row[at + i] / scale), -MOST_BYTE, MOST_BYTE) : 0f;
        }
        return scale;
    }

    /** Returns the offset in bytes of an element, which must be a multiple of 32 if rows are interleaved or packed in words. */
    public long offset(int element) {
        return (long) element * blockBytes() >> blockBits;
    }

    /** Returns the number of bytes of {@code rows} rows, a whole number of blocks, of {@code panels} panels. */
    public long bytes(long rows, long panels) {
        return rows / blockRows * blockBytes() * panels;
    }

    /** Returns the number of elements in a number of bytes. */
    long elements(long bytes) {
        return (bytes << blockBits) / blockBytes();
    }

    /**
     * Returns the offset in bytes at which a tile reads the first of its two vectors.
     *
     * @param panelAt the panel's first element
     * @param column the tile's first column in the panel; below 16 in formats other than F32, in which a word contains two columns or four
     * rows
     */
    public long tileOffset(int panelAt, int column) {
        return offset(panelAt) + (long) column * Float.BYTES;
    }

    /** Returns whether elements are quantized blocks with scales. */
    public boolean isQuantized() {
        return type != null;
    }

    /**
     * Returns the layout of quantized blocks. Its classes need the Vector API. A JVM without it gets an error that names the flag when a cache
     * or packed weights are made; therefore no constant above refers to these classes.
     */
    public BlockPanels blocks() {
        return BlockPanels.of(Checks.notNull(type, "type"));
    }

    /** Returns the 16-bit layout of BF16 or F16. */
    public HalfPanels halves() {
        return switch (this) {
            case BF16 -> HalfPanels.BF16;
            case F16 -> HalfPanels.F16;
            default -> throw new IllegalStateException("format: " + this + "; expected BF16 or F16");
        };
    }
}

package io.multihead.internal.layout;

import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.BlockScales;
import io.multihead.internal.kernel.Fields;
import io.multihead.internal.kernel.Fields4;
import io.multihead.internal.kernel.Fields5;
import io.multihead.internal.kernel.Fields6;
import io.multihead.internal.kernel.Fields8;

/**
 * A format of quantised panels: the scales of all rows of a panel, then the fields. So a tile reads one stream, and fields of one width
 * have one kernel whatever their scales are.
 *
 * @param fields how elements are stored
 * @param scales how scales are stored
 */
public record BlockPanels(Fields fields, BlockScales scales) {
    /** int8 with an f16 scale for each 32 rows. */
    public static final BlockPanels Q8_0 = new BlockPanels(new Fields8(), BlockScales.HALVES);

    /** Signed 4 bits with an f16 scale for each 32 rows. */
    public static final BlockPanels Q4_0 = new BlockPanels(new Fields4(8), BlockScales.HALVES);

    /** Unsigned 4 bits with an f16 scale and an f16 minimum for each 32 rows. */
    public static final BlockPanels Q4_1 = new BlockPanels(new Fields4(0), BlockScales.HALVES_AND_MINIMA);

    /** Signed 5 bits with an f16 scale for each 32 rows. */
    public static final BlockPanels Q5_0 = new BlockPanels(new Fields5(16), BlockScales.HALVES);

    /** Unsigned 5 bits with scales and minima as {@link #Q4_1} has them. */
    public static final BlockPanels Q5_1 = new BlockPanels(new Fields5(0), BlockScales.HALVES_AND_MINIMA);

    /** Unsigned 4 bits with 6-bit scales and minima for each 32 rows, and two f16 for each 256. */
    public static final BlockPanels Q4_K = new BlockPanels(new Fields4(0), BlockScales.MINIMA);

    /** Unsigned 5 bits with scales as {@link #Q4_K} has them. */
    public static final BlockPanels Q5_K = new BlockPanels(new Fields5(0), BlockScales.MINIMA);

    /** Signed 6 bits with an int8 scale for each 16 rows, and an f16 for each 256. */
    public static final BlockPanels Q6_K = new BlockPanels(new Fields6(), BlockScales.SIXTEENTHS);

    /** Returns the rows of a block: those that share an f16. */
    public int rows() {
        return scales.rows();
    }

    /** Returns the bytes of a block of all 32 columns. */
    public int bytes() {
        return (int) ((scales.words() + rows() / Fields.ROWS * fields.words() * PANEL) * WORD);
    }

    /** Returns the words of the scales of {@code depth} rows of a panel, after which its fields begin. */
    public int scaleWords(int depth) {
        return depth / rows() * scales.words();
    }
}

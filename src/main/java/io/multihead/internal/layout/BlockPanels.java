package io.multihead.internal.layout;

import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.BitFields;
import io.multihead.internal.kernel.BitFields2;
import io.multihead.internal.kernel.BitFields4;
import io.multihead.internal.kernel.BitFields4Table;
import io.multihead.internal.kernel.BitFields5;
import io.multihead.internal.kernel.BitFields6;
import io.multihead.internal.kernel.BitFields8;
import io.multihead.internal.kernel.BlockScales;
import io.multihead.tensor.BlockType;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The formats of quantized panels. A panel has the scales of all its rows, and then the fields. Therefore a tile reads one stream, and fields
 * of one width have one kernel for all kinds of scales. {@link BlockType} has the sizes and values of the blocks with the same names.
 */
public enum BlockPanels {
    /** int8 with an f16 scale for each 32 rows. */
    Q8_0(new BitFields8(), BlockScales.F16_SCALES, QuantizedBlock.Bytes::new),
    /** Signed 4 bits with an f16 scale for each 32 rows. */
    Q4_0(new BitFields4(8), BlockScales.F16_SCALES, () -> new QuantizedBlock.Nibbles(false, false)),
    /** Unsigned 4 bits with an f16 scale and an f16 minimum for each 32 rows. */
    Q4_1(new BitFields4(0), BlockScales.F16_SCALES_AND_MINS, () -> new QuantizedBlock.Nibbles(false, true)),
    /** Signed 5 bits with an f16 scale for each 32 rows. */
    Q5_0(new BitFields5(16), BlockScales.F16_SCALES, () -> new QuantizedBlock.Nibbles(true, false)),
    /** Unsigned 5 bits with scales and mins as in {@link #Q4_1}. */
    Q5_1(new BitFields5(0), BlockScales.F16_SCALES_AND_MINS, () -> new QuantizedBlock.Nibbles(true, true)),
    /** Unsigned 4 bits with 6-bit scales and mins for each 32 rows, and two f16 for each 256. */
    Q4_K(new BitFields4(0), BlockScales.MINS, () -> new QuantizedBlock.Mins(false)),
    /** Unsigned 5 bits with scales as in {@link #Q4_K}. */
    Q5_K(new BitFields5(0), BlockScales.MINS, () -> new QuantizedBlock.Mins(true)),
    /** Signed 6 bits with an int8 scale for each 16 rows, and an f16 for each 256. */
    Q6_K(new BitFields6(), BlockScales.SIXTEEN_ROWS, QuantizedBlock.Sixes::new),
    /** Signed 3 bits, stored as 6 bits, with scales as in {@link #Q6_K}: 210 bytes for the 110 of the file. */
    Q3_K(new BitFields6(), BlockScales.SIXTEEN_ROWS, QuantizedBlock.Threes::new),
    /** Unsigned 2 bits with a scale and a minimum for each 16 rows, and two f16 for each 256: 100 bytes for the 84 of the file. */
    Q2_K(new BitFields2(), BlockScales.SIXTEEN_ROWS_AND_MINS, QuantizedBlock.Twos::new),
    /** Codes of E2M1 with a bf16 scale, a power of two, for each 32 rows: 18 bytes for the 17 of the file. */
    MXFP4(BitFields4Table.e2m1(), BlockScales.POWERS, () -> new QuantizedBlock.Codes(BitFields4Table.e2m1(), 1)),
    /** Codes of IQ4_NL with an f16 scale for each 32 rows. */
    IQ4_NL(BitFields4Table.iq4(), BlockScales.F16_SCALES, () -> new QuantizedBlock.Codes(BitFields4Table.iq4(), 2)),
    /** Codes of IQ4_NL with an int8 scale for each 32 rows, and an f16 for each 256. */
    IQ4_XS(BitFields4Table.iq4(), BlockScales.EIGHTHS, QuantizedBlock.CodesOfEight::new);

    private static final Map<BlockType, BlockPanels> OF_TYPES = new EnumMap<>(BlockType.class);

    static {
        for (BlockType type : BlockType.values()) {
            OF_TYPES.put(type, valueOf(type.name()));
        }
    }

    private final BitFields fields;
    private final BlockScales scales;
    private final Supplier<QuantizedBlock> reader;
    private final int bytes;

    BlockPanels(BitFields fields, BlockScales scales, Supplier<QuantizedBlock> reader) {
        this.fields = fields;
        this.scales = scales;
        this.reader = reader;
        bytes = (int) ((scales.words() + rows() / BitFields.ROWS * fields.words() * PANEL) * WORD);
    }

    public static BlockPanels of(BlockType type) {
        return Checks.notNull(OF_TYPES.get(type), "type");
    }

    /** Returns the storage of elements. */
    public BitFields fields() {
        return fields;
    }

    public BlockScales scales() {
        return scales;
    }

    /** Returns a new reader of blocks, for one thread. */
    QuantizedBlock reader() {
        return reader.get();
    }

    /** Returns the number of rows of a block: the rows that share an f16. */
    public int rows() {
        return scales.rows();
    }

    /** Returns the number of bytes of a block of all 32 columns. */
    public int bytes() {
        return bytes;
    }

    /** Returns the number of words of the scales of {@code depth} rows of a panel, after which its fields begin. */
    public int scaleWords(int depth) {
        return depth / rows() * scales.words();
    }
}

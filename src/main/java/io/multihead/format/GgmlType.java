package io.multihead.format;

import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The type of a tensor in a GGUF file: ggml's number, and the elements and bytes of a block, which determine the tensor's size. Only some types
 * can be read.
 */
enum GgmlType {
    F32(0, DType.F32),
    F16(1, DType.F16),
    Q4_0(2, BlockType.Q4_0),
    Q4_1(3, BlockType.Q4_1),
    Q5_0(6, BlockType.Q5_0),
    Q5_1(7, BlockType.Q5_1),
    Q8_0(8, BlockType.Q8_0),
    Q8_1(9, 32, 36),
    Q2_K(10, BlockType.Q2_K),
    Q3_K(11, BlockType.Q3_K),
    Q4_K(12, BlockType.Q4_K),
    Q5_K(13, BlockType.Q5_K),
    Q6_K(14, BlockType.Q6_K),
    Q8_K(15, 256, 292),
    IQ2_XXS(16, 256, 66),
    IQ2_XS(17, 256, 74),
    IQ3_XXS(18, 256, 98),
    IQ1_S(19, 256, 50),
    IQ4_NL(20, BlockType.IQ4_NL),
    IQ3_S(21, 256, 110),
    IQ2_S(22, 256, 82),
    IQ4_XS(23, BlockType.IQ4_XS),
    I8(24, DType.I8),
    I16(25, 1, 2),
    I32(26, 1, 4),
    I64(27, 1, 8),
    F64(28, DType.F64),
    IQ1_M(29, 256, 56),
    BF16(30, DType.BF16),
    TQ1_0(34, 256, 54),
    TQ2_0(35, 256, 66),
    MXFP4(39, BlockType.MXFP4);

    private static final Map<Long, GgmlType> BY_ID = new HashMap<>();

    static {
        for (GgmlType type : values()) {
            BY_ID.put(type.id, type);
        }
    }

    private final long id;
    private final int elements;
    private final int bytes;
    private final @Nullable DType dtype;
    private final @Nullable BlockType blocks;

    GgmlType(long id, DType dtype) {
        this(id, 1, dtype.bytes(), dtype, null);
    }

    GgmlType(long id, BlockType blocks) {
        this(id, blocks.elements(), blocks.bytes(), null, blocks);
    }

    GgmlType(long id, int elements, int bytes) {
        this(id, elements, bytes, null, null);
    }

    GgmlType(long id, int elements, int bytes, @Nullable DType dtype, @Nullable BlockType blocks) {
        this.id = id;
        this.elements = elements;
        this.bytes = bytes;
        this.dtype = dtype;
        this.blocks = blocks;
    }

    /** Returns the type with a number, or null if the number is unknown: ggml adds types. */
    static @Nullable GgmlType of(long id) {
        return BY_ID.get(id);
    }

    /** Returns the type of a tensor's elements: every element type has one. */
    static GgmlType of(DType dtype) {
        return valueOf(dtype.name());
    }

    static GgmlType of(BlockType blocks) {
        return valueOf(blocks.name());
    }

    long id() {
        return id;
    }

    int elements() {
        return elements;
    }

    int bytes() {
        return bytes;
    }

    /** Returns the element type of a tensor; null if the tensor has blocks or cannot be read. */
    @Nullable
    DType dtype() {
        return dtype;
    }

    /** Returns the type of the blocks; null if there are no blocks or they cannot be read. */
    @Nullable
    BlockType blocks() {
        return blocks;
    }
}

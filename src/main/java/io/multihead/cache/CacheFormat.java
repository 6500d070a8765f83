package io.multihead.cache;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.Int8Panels;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.tensor.DType;

/** The formats in which a cache stores the elements of keys and values. */
public enum CacheFormat {
    /** f32, unchanged. */
    F32(DType.F32),
    /** bf16, rounded to nearest even. */
    BF16(DType.BF16),
    /** f16, rounded to nearest even. */
    F16(DType.F16),
    /** int8 with an f32 scale for each key and each value: the largest absolute element over 127. */
    I8(DType.I8),
    /**
     * int8 with an f32 scale for each 32 elements of a key (the last block may be shorter) and for each value. A channel that is far larger
     * than the others reduces the precision of its own block only. For keys of at most 32 elements, this format is the same as {@link #I8}.
     */
    I8_BLOCKS(DType.I8);

    private final DType dtype;

    CacheFormat(DType dtype) {
        this.dtype = dtype;
    }

    /**
     * {@return the format of an element type, with one scale per key in I8}
     *
     * @param dtype F32, BF16, F16 or I8
     * @throws IllegalArgumentException if the type is F64
     */
    public static CacheFormat of(DType dtype) {
        return switch (Checks.notNull(dtype, "dtype")) {
            case F32 -> F32;
            case BF16 -> BF16;
            case F16 -> F16;
            case I8 -> I8;
            case F64 -> throw Checks.fail("dtype", "F64", "expected F32, BF16, F16 or I8");
        };
    }

    /** {@return the type of the elements} */
    public DType dtype() {
        return dtype;
    }

    /** Returns the storage format of panels of the elements. */
    PanelFormat panels() {
        return PanelFormat.of(dtype);
    }

    /** Returns the number of scales of a key; 0 except in i8. */
    int scalesOfKey(int headDim) {
        return switch (this) {
            case F32, BF16, F16 -> 0;
            case I8 -> 1;
            case I8_BLOCKS -> Math.ceilDiv(headDim, Int8Panels.BLOCK);
        };
    }
}

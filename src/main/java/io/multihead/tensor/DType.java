package io.multihead.tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The storage type of an element. Arithmetic is always f32, or f64 in the reference.
 *
 * <p>Elements are in the machine's byte order and need no alignment. Narrowing rounds to nearest, ties to even; NaN stays NaN in
 * floating-point types and becomes 0 in {@link #I8}. {@link #I8} saturates.
 */
public enum DType {
    /** IEEE 754 binary32. */
    F32(Float.BYTES) {
        @Override
        double read(MemorySegment memory, long byteOffset) {
            return memory.get(ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset);
        }

        @Override
        void write(MemorySegment memory, long byteOffset, double value) {
            memory.set(ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, (float) value);
        }
    },
    /** IEEE 754 binary64; kernels round it to f32 when they load it. */
    F64(Double.BYTES) {
        @Override
        double read(MemorySegment memory, long byteOffset) {
            return memory.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, byteOffset);
        }

        @Override
        void write(MemorySegment memory, long byteOffset, double value) {
            memory.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, byteOffset, value);
        }
    },
    /** bfloat16: the upper half of an f32. */
    BF16(Short.BYTES) {
        @Override
        double read(MemorySegment memory, long byteOffset) {
            return bf16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, byteOffset));
        }

        @Override
        void write(MemorySegment memory, long byteOffset, double value) {
            memory.set(ValueLayout.JAVA_SHORT_UNALIGNED, byteOffset, floatToBf16(roundToOdd(value)));
        }
    },
    /** IEEE 754 binary16. */
    F16(Short.BYTES) {
        @Override
        double read(MemorySegment memory, long byteOffset) {
            return Float.float16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, byteOffset));
        }

        @Override
        void write(MemorySegment memory, long byteOffset, double value) {
            memory.set(ValueLayout.JAVA_SHORT_UNALIGNED, byteOffset, Float.floatToFloat16(roundToOdd(value)));
        }
    },
    /** A signed byte, -128 to 127; boolean masks also have this type, with 0 for false. */
    I8(Byte.BYTES) {
        @Override
        double read(MemorySegment memory, long byteOffset) {
            return memory.get(ValueLayout.JAVA_BYTE, byteOffset);
        }

        @Override
        void write(MemorySegment memory, long byteOffset, double value) {
            memory.set(ValueLayout.JAVA_BYTE, byteOffset, (byte) Math.clamp(Math.rint(value), -128.0, 127.0));
        }
    };

    private final int bytes;

    DType(int bytes) {
        this.bytes = bytes;
    }

    /** {@return the bytes of one element} */
    public int bytes() {
        return bytes;
    }

    /** {@return whether this type stores floating-point numbers; false for {@link #I8} only} */
    public boolean isFloating() {
        return this != I8;
    }

    /**
     * Widens a bfloat16 bit pattern; exact.
     *
     * @param bits the 16 bits
     * @return the same number as f32
     */
    public static float bf16ToFloat(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    /**
     * Rounds to bfloat16, to nearest, ties to even; NaN stays (a quiet) NaN.
     *
     * @param value any f32
     * @return the 16 bits
     */
    public static short floatToBf16(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (value != value) {
            return (short) (bits >>> 16 | 0x40);
        }
        return (short) (bits + 0x7fff + (bits >>> 16 & 1) >>> 16);
    }

    abstract double read(MemorySegment memory, long byteOffset);

    abstract void write(MemorySegment memory, long byteOffset, double value);

    /** Narrows to f32 so that a second rounding to 16 bits equals one direct rounding (sticky last bit). */
    private static float roundToOdd(double value) {
        float nearest = (float) value;
        if (nearest == value || Float.isNaN(nearest) || Float.isInfinite(nearest)) {
            return nearest;
        }
        float towardsZero = Math.abs((double) nearest) > Math.abs(value)
                ? Float.intBitsToFloat(Float.floatToRawIntBits(nearest) - 1)
                : nearest;
        return Float.intBitsToFloat(Float.floatToRawIntBits(towardsZero) | 1);
    }
}

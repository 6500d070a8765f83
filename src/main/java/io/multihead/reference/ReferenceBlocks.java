package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.BlockTensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The values of quantized weights as plain loops in {@code double}, element by element, with the positions of bits that ggml defines
 * for GGUF files. Every operation is exact in {@code double}, so a value rounded to f32 equals the result of a correctly rounded f32
 * computation.
 */
public final class ReferenceBlocks {
    /** The numbers of IQ4_NL's codes. */
    private static final int[] IQ4 = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

    private ReferenceBlocks() {}

    /**
     * Returns the values of all elements.
     *
     * @param weights the blocks
     * @return the values, row-major, as a new array
     * @throws IllegalArgumentException if an array cannot hold all values
     */
    public static double[] dequantize(BlockTensor weights) {
        long elements = Checks.notNull(weights, "weights").shape().elements();
        double[] values = new double[Checks.fitsInt(elements, "elements")];
        int block = weights.type().elements();
        for (int i = 0; i < values.length; i++) {
            MemorySegment memory = block(weights, i);
            int element = i % block;
            values[i] = switch (weights.type()) {
                case Q8_0 -> half(memory, 0) * memory.get(ValueLayout.JAVA_BYTE, 2 + element);
                case Q4_0 -> half(memory, 0) * (pair(memory, 2, element) - 8);
                case Q4_1 -> half(memory, 0) * pair(memory, 4, element) + half(memory, 2);
                case Q5_0 -> half(memory, 0) * (pair(memory, 6, element) + 16 * fifth(memory, 2, element) - 16);
                case Q5_1 ->
                    half(memory, 0) * (pair(memory, 8, element) + 16 * fifth(memory, 4, element)) + half(memory, 2);
                case Q4_K -> withMinimum(memory, element, nibble(memory, 16, element));
                case Q5_K ->
                    withMinimum(
                            memory,
                            element,
                            nibble(memory, 48, element) + 16 * bits(memory, 16 + element % 32, element / 32, 1));
                case Q6_K -> sixBits(memory, element);
                case Q3_K ->
                    scale(weights, i)
                            * (twoBits(memory, 32, element) + 4 * bits(memory, element % 32, element / 32, 1) - 4);
                case Q2_K -> scale(weights, i) * twoBits(memory, 16, element) - minimum(weights, i);
                case MXFP4 -> scale(weights, i) * 2 * e2m1(pair(memory, 1, element));
                case IQ4_NL -> scale(weights, i) * IQ4[pair(memory, 2, element)];
                case IQ4_XS -> scale(weights, i) * IQ4[pair(memory, 8 + element / 32 * 16, element % 32)];
            };
        }
        return values;
    }

    /** Returns the factor of the integer of an element, by its row-major index: d, times the scale of its part if there is one. */
    static double scale(BlockTensor weights, int i) {
        MemorySegment memory = block(weights, i);
        int element = i % weights.type().elements();
        return switch (weights.type()) {
            case Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL -> half(memory, 0);
            case MXFP4 -> Math.scalb(1.0, bits(memory, 0, 0, 8) - 128);
            case IQ4_XS -> half(memory, 0) * (sixBitScale(memory, element / 32) - 32);
            case Q4_K, Q5_K -> half(memory, 0) * partScale(memory, element / 32);
            case Q6_K -> half(memory, 208) * memory.get(ValueLayout.JAVA_BYTE, 192 + element / 16);
            case Q3_K -> half(memory, 108) * (scaleOfSixteen(memory, element / 16) - 32);
            case Q2_K -> half(memory, 80) * bits(memory, element / 16, 0, 4);
        };
    }

    /** Returns the number that is subtracted from an element: 0 if the type has no minima. */
    static double minimum(BlockTensor weights, int i) {
        MemorySegment memory = block(weights, i);
        return switch (weights.type()) {
            case Q8_0, Q4_0, Q5_0, Q6_K, Q3_K, MXFP4, IQ4_NL, IQ4_XS -> 0;
            case Q2_K -> half(memory, 82) * bits(memory, i % weights.type().elements() / 16, 4, 4);
            case Q4_1, Q5_1 -> -half(memory, 2);
            case Q4_K, Q5_K ->
                half(memory, 2) * partMinimum(memory, i % weights.type().elements() / 32);
        };
    }

    private static MemorySegment block(BlockTensor weights, int i) {
        int bytes = weights.type().bytes();
        return weights.memory()
                .asSlice(weights.offset() + (long) (i / weights.type().elements()) * bytes, bytes);
    }

    /** Returns {@code d * s * q - dmin * m}, where d and dmin come first and the 12 bytes of s and m follow. */
    private static double withMinimum(MemorySegment memory, int element, int q) {
        int part = element / 32;
        return half(memory, 0) * partScale(memory, part) * q - half(memory, 2) * partMinimum(memory, part);
    }

    private static int partScale(MemorySegment memory, int part) {
        return part < 4 ? bits(memory, 4 + part, 0, 6) : bits(memory, 8 + part, 0, 4) + 16 * bits(memory, part, 6, 2);
    }

    private static int partMinimum(MemorySegment memory, int part) {
        return part < 4
                ? bits(memory, 8 + part, 0, 6)
                : bits(memory, 8 + part, 4, 4) + 16 * bits(memory, 4 + part, 6, 2);
    }

    /**
     * Returns the low 4 bits of an element: byte i of 16 has the bits of element i in its low half, and the bits of element i + 16 in
     * its high half.
     */
    private static int pair(MemorySegment memory, int from, int element) {
        return bits(memory, from + element % 16, element / 16 * 4, 4);
    }

    /** Returns the fifth bit of an element: bit i of 32, the lowest first. */
    private static int fifth(MemorySegment memory, int from, int element) {
        return bits(memory, from + element / 8, element % 8, 1);
    }

    /** Returns the nibble of an element of a super-block: 64 elements are in 32 bytes, the first 32 in the low nibbles. */
    private static int nibble(MemorySegment memory, int from, int element) {
        return bits(memory, from + element / 64 * 32 + element % 32, element / 32 % 2 * 4, 4);
    }

    /** Returns {@code d * s * (q - 32)}: 128 elements are in 64 bytes of nibbles and 32 bytes of pairs of bits. */
    private static double sixBits(MemorySegment memory, int element) {
        int half = element / 128;
        int quarter = element / 32 % 4;
        int at = element % 32;
        int low = bits(memory, half * 64 + quarter % 2 * 32 + at, quarter / 2 * 4, 4);
        int high = bits(memory, 128 + half * 32 + at, quarter * 2, 2);
        int scale = memory.get(ValueLayout.JAVA_BYTE, 192 + element / 16);
        return half(memory, 208) * scale * (low + 16 * high - 32);
    }

    /** Returns two bits of an element: 128 elements are in 32 bytes, four in each byte. */
    private static int twoBits(MemorySegment memory, int from, int element) {
        return bits(memory, from + element / 128 * 32 + element % 32, element / 32 % 4 * 2, 2);
    }

    /**
     * Returns scale {@code part} of Q3_K: each of 8 bytes has the low 4 bits of two scales, and each of the next 4 bytes the high 2 bits
     * of four scales.
     */
    private static int scaleOfSixteen(MemorySegment memory, int part) {
        return bits(memory, 96 + part % 8, part / 8 * 4, 4) + 16 * bits(memory, 104 + part % 4, part / 4 * 2, 2);
    }

    /**
     * Returns a number of OCP's E2M1, computed from its definition: a sign, an exponent with bias 1, and one bit of fraction; the number
     * is subnormal if the exponent is 0.
     */
    private static double e2m1(int code) {
        int exponent = code >> 1 & 3;
        double fraction = (code & 1) / 2.0;
        double size = exponent == 0 ? fraction : Math.scalb(1 + fraction, exponent - 1);
        return size == 0 || code < 8 ? size : -size; // ggml has no negative zero
    }

    /** Returns scale {@code part} of IQ4_XS, whose high bits are in two bytes, and whose low bits are in the next four. */
    private static int sixBitScale(MemorySegment memory, int part) {
        return bits(memory, 4 + part / 2, part % 2 * 4, 4) + 16 * bits(memory, 2 + part / 4, part % 4 * 2, 2);
    }

    /** Returns some bits of one byte. */
    private static int bits(MemorySegment memory, int at, int shift, int count) {
        return memory.get(ValueLayout.JAVA_BYTE, at) >> shift & (1 << count) - 1;
    }

    /** Returns a little-endian binary16, computed from its definition. */
    private static double half(MemorySegment memory, int at) {
        int bits = bits(memory, at, 0, 8) + 256 * bits(memory, at + 1, 0, 8);
        double sign = bits >> 15 == 0 ? 1 : -1;
        int exponent = bits >> 10 & 31;
        int fraction = bits & 1023;
        if (exponent == 31) {
            return fraction == 0 ? sign * Double.POSITIVE_INFINITY : Double.NaN;
        }
        return sign
                * (exponent == 0 ? Math.scalb((double) fraction, -24) : Math.scalb(1024.0 + fraction, exponent - 25));
    }
}

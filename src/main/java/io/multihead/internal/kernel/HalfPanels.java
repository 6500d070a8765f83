package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.NativeMemory;
import io.multihead.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/**
 * Panels of 16-bit elements, two to a word: a row of 32 columns is 16 words; column l is the high half of word l, and column l + 16 is its
 * low half. Therefore one vector of words becomes two vectors of f32, with the same instructions for bf16 and f16: shift, mask, multiply by
 * a power of two.
 *
 * <p>The bits of an f16, moved to the fields of an f32, are its value times {@code 2^(15 - 127)}, also for subnormal elements. The
 * multiplication is exact, but turns infinity and NaN into finite numbers. Therefore panels that tiles widen in registers must be finite in
 * f16; {@link #widen} handles infinity and NaN.
 */
public final class HalfPanels {
    private static final int EXPONENT = 0x7f800000;

    /** Bytes of a row of a panel. */
    private static final long ROW_BYTES = HALF * WORD;

    static final int F16_SHIFT = 3;
    static final int F16_MASK = 0x8fffe000;
    static final float F16_FACTOR = 0x1p112f;

    /**
     * Panels of bf16. Infinity and NaN of bf16 need no special treatment: the mask clears the bit that is given for them, so no element has
     * this bit.
     */
    public static final HalfPanels BF16 = new HalfPanels(0, 0xffff0000, 1f, 1);

    /** Panels of f16. */
    public static final HalfPanels F16 = new HalfPanels(F16_SHIFT, F16_MASK, F16_FACTOR, 0x0f800000);

    private final int shift;
    private final int mask;
    private final float factor;
    /** Exponent of infinity and NaN after shift and mask, which the factor would make finite. */
    private final int special;

    private HalfPanels(int shift, int mask, float factor, int special) {
        this.shift = shift;
        this.mask = mask;
        this.factor = factor;
        this.special = special;
    }

    /** Widens {@code rows} rows to rows of f32 panels, including infinity and NaN; {@code from} and {@code at} are offsets in bytes. */
    public void widen(MemorySegment words, long from, int rows, MemorySegment to, long at) {
        MemorySegment source = NativeMemory.known(words);
        MemorySegment target = NativeMemory.known(to);
        IntVector masks = IntVector.broadcast(INTS, mask);
        FloatVector factors = FloatVector.broadcast(FLOATS, factor);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < PANEL; column += COUNT) {
                long word = row * HALF + column % HALF;
                IntVector bits = IntVector.fromMemorySegment(INTS, source, from + word * WORD, ORDER)
                        .lanewise(VectorOperators.LSHL, column / HALF * 16)
                        .lanewise(VectorOperators.ASHR, shift)
                        .and(masks);
                // an exponent of all ones becomes the f32 exponent of all ones
                VectorMask<Float> isSpecial =
                        bits.and(special).compare(VectorOperators.EQ, special).cast(FLOATS);
                bits.reinterpretAsFloats()
                        .mul(factors)
                        .blend(bits.or(EXPONENT).reinterpretAsFloats(), isSpecial)
                        .intoMemorySegment(target, at + (row * PANEL + column) * WORD, ORDER);
            }
        }
    }

    /**
     * Widens {@code count} rows of finite elements to an array, rows of 32 floats.
     *
     * @param at offset of the first row in bytes
     * @param stride bytes from row to row
     */
    void widen(MemorySegment words, long at, long stride, int count, float[] to, int t0) {
        MemorySegment source = NativeMemory.known(words);
        if (count < 0) { // see WarmUp.Trial
            for (int i = count * PANEL; i < 0; i++) {}
            return;
        }
        for (int row = 0; row < count; row++) {
            for (int column = 0; column < PANEL; column += COUNT) {
                IntVector.fromMemorySegment(INTS, source, at + row * stride + column % HALF * WORD, ORDER)
                        .lanewise(VectorOperators.LSHL, column / HALF * 16)
                        .lanewise(VectorOperators.ASHR, shift)
                        .and(mask)
                        .reinterpretAsFloats()
                        .mul(factor)
                        .intoArray(to, t0 + row * PANEL + column);
            }
        }
    }

    /**
     * Widens the words of {@code count} rows of finite elements without vectors, with the bits of the tiles.
     *
     * @param w0 index of the first row's first word; words are {@link Lanes#HALF} apart from row to row
     * @param width the number of words of each row
     * @param to rows of 32 floats
     */
    public void widen(int[] words, int w0, int count, int width, float[] to, int t0) {
        for (int row = 0; row < count; row++) {
            int from = w0 + row * HALF;
            int at = t0 + row * PANEL;
            for (int i = 0; i < width; i++) {
                int word = words[from + i];
                to[at + i] = Float.intBitsToFloat(word >> shift & mask) * factor;
                to[at + HALF + i] = Float.intBitsToFloat(word << 16 >> shift & mask) * factor;
            }
        }
    }

    /** Rounds {@code length} floats to the elements from row-major index {@code at} on; they may begin and end within a row. */
    public void narrow(float[] from, int start, int length, MemorySegment words, int at) {
        MemorySegment memory = NativeMemory.known(words);
        for (int i = 0; i < length; i++) {
            short bits = this == BF16 ? DType.floatToBf16(from[start + i]) : Float.floatToFloat16(from[start + i]);
            int column = (at + i) % PANEL;
            long word = ((at + i) / PANEL * HALF + column % HALF) * WORD;
            int up = column < HALF ? 16 : 0;
            int old = memory.get(ValueLayout.JAVA_INT, word);
            memory.set(ValueLayout.JAVA_INT, word, old & ~(0xffff << up) | (bits & 0xffff) << up);
        }
    }

    /**
     * Computes {@code C = A B} for four rows and two vectors, half a panel apart, of one panel, summed in chains of {@code chain}
     * multiply-adds. The tile always reads four rows of A and stores four rows of C. It gives the same bits as {@link MicroKernel#tiles6}
     * with the widened panel. Elements are widened in registers, so that loads from memory overlap with multiply-adds: when panels were
     * first widened to an array, decode took twice the time.
     */
    public void tile4(
            float[] a, int a0, MemorySegment panels, long b0, int depth, int chain, float[] c, int c0, int ldc) {
        MemorySegment b = NativeMemory.known(panels);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        int step = MicroKernel.unknownOne(depth);
        int up = shift;
        IntVector masks = IntVector.broadcast(INTS, mask);
        FloatVector factors = FloatVector.broadcast(FLOATS, factor);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector s00 = zero, s01 = zero;
        FloatVector s10 = zero, s11 = zero;
        FloatVector s20 = zero, s21 = zero;
        FloatVector s30 = zero, s31 = zero;
        for (int first = 0; first < depth; first += chain) {
            int end = Math.min(depth, first + chain);
            FloatVector c00 = zero, c01 = zero;
            FloatVector c10 = zero, c11 = zero;
            FloatVector c20 = zero, c21 = zero;
            FloatVector c30 = zero, c31 = zero;
            for (int k = first; k < end; k += step) {
                IntVector words = IntVector.fromMemorySegment(INTS, b, b0 + k * ROW_BYTES, ORDER);
                IntVector high = words.lanewise(VectorOperators.ASHR, up).and(masks);
                FloatVector b0k = high.reinterpretAsFloats().mul(factors);
                IntVector low = words.lanewise(VectorOperators.LSHL, 16)
                        .lanewise(VectorOperators.ASHR, up)
                        .and(masks);
                FloatVector b1k = low.reinterpretAsFloats().mul(factors);
                FloatVector x0 = FloatVector.broadcast(FLOATS, a[a0 + k]);
                c00 = x0.fma(b0k, c00);
                c01 = x0.fma(b1k, c01);
                FloatVector x1 = FloatVector.broadcast(FLOATS, a[a0 + k + ROW]);
                c10 = x1.fma(b0k, c10);
                c11 = x1.fma(b1k, c11);
                FloatVector x2 = FloatVector.broadcast(FLOATS, a[a0 + k + 2 * ROW]);
                c20 = x2.fma(b0k, c20);
                c21 = x2.fma(b1k, c21);
                FloatVector x3 = FloatVector.broadcast(FLOATS, a[a0 + k + 3 * ROW]);
                c30 = x3.fma(b0k, c30);
                c31 = x3.fma(b1k, c31);
            }
            s00 = c00.add(s00);
            s01 = c01.add(s01);
            s10 = c10.add(s10);
            s11 = c11.add(s11);
            s20 = c20.add(s20);
            s21 = c21.add(s21);
            s30 = c30.add(s30);
            s31 = c31.add(s31);
        }
        s00.intoArray(c, c0);
        s01.intoArray(c, c0 + HALF);
        s10.intoArray(c, c0 + ldc);
        s11.intoArray(c, c0 + ldc + HALF);
        s20.intoArray(c, c0 + 2 * ldc);
        s21.intoArray(c, c0 + 2 * ldc + HALF);
        s30.intoArray(c, c0 + 3 * ldc);
        s31.intoArray(c, c0 + 3 * ldc + HALF);
    }

    /** Computes {@code C = A B} as {@link #tile4} does, for one row of A and one row of C. */
    public void tile1(float[] a, int a0, MemorySegment panels, long b0, int depth, int chain, float[] c, int c0) {
        MemorySegment b = NativeMemory.known(panels);
        if (depth < 0) { // see WarmUp.Trial
            for (int i = depth; i < 0; i++) {}
            return;
        }
        int step = MicroKernel.unknownOne(depth);
        int up = shift;
        IntVector masks = IntVector.broadcast(INTS, mask);
        FloatVector factors = FloatVector.broadcast(FLOATS, factor);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector s0 = zero, s1 = zero;
        for (int first = 0; first < depth; first += chain) {
            int end = Math.min(depth, first + chain);
            FloatVector v0 = zero, v1 = zero;
            for (int k = first; k < end; k += step) {
                IntVector words = IntVector.fromMemorySegment(INTS, b, b0 + k * ROW_BYTES, ORDER);
                IntVector high = words.lanewise(VectorOperators.ASHR, up).and(masks);
                IntVector low = words.lanewise(VectorOperators.LSHL, 16)
                        .lanewise(VectorOperators.ASHR, up)
                        .and(masks);
                FloatVector x = FloatVector.broadcast(FLOATS, a[a0 + k]);
                v0 = x.fma(high.reinterpretAsFloats().mul(factors), v0);
                v1 = x.fma(low.reinterpretAsFloats().mul(factors), v1);
            }
            s0 = v0.add(s0);
            s1 = v1.add(s1);
        }
        s0.intoArray(c, c0);
        s1.intoArray(c, c0 + HALF);
    }

    /**
     * Rounds {@code count} whole rows of 32 floats to rows of one panel, without vectors: weights are packed when a program starts.
     *
     * @param words room for the words of the rows, 16 each
     * @param at offset of the first row in bytes
     */
    public void store(float[] rows, int count, int[] words, MemorySegment panels, long at) {
        boolean isBf16 = this == BF16;
        for (int row = 0; row < count; row++) {
            for (int i = 0; i < HALF; i++) {
                float left = rows[row * PANEL + i];
                float right = rows[row * PANEL + HALF + i];
                int high = isBf16 ? DType.floatToBf16(left) : Float.floatToFloat16(left);
                int low = isBf16 ? DType.floatToBf16(right) : Float.floatToFloat16(right);
                words[row * HALF + i] = high << 16 | low & 0xffff;
            }
        }
        MemorySegment.copy(words, 0, panels, ValueLayout.JAVA_INT, at, count * HALF);
    }
}

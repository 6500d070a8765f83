package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.NativeMemory;
import io.multihead.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/**
 * Panels of 16-bit elements, two to a word: a row of 32 columns is 16 words, column l the high half of word l and column l + 16
 * its low half. So one vector of words becomes two vectors of f32, for bf16 and f16 by the same instructions: shift, mask,
 * multiply by a power of two.
 *
 * <p>The bits of an f16, moved to the fields of an f32, are its value times {@code 2^(15 - 127)}, for subnormal elements too. The
 * multiplication is exact, but turns infinity and NaN into finite numbers. So panels that tiles widen in registers must be
 * finite in f16; {@link #widen} handles infinity and NaN.
 */
public final class HalfPanels {
    private static final int EXPONENT = 0x7f800000;

    /** Panels of bf16. No exponent is special: the bit named so is one that the mask clears. */
    public static final HalfPanels BF16 = new HalfPanels(0, 0xffff0000, 1f, 1);

    /** Panels of f16. */
    public static final HalfPanels F16 = new HalfPanels(3, 0x8fffe000, 0x1p112f, 0x0f800000);

    final int shift;
    final int mask;
    final float factor;
    /** Exponent of infinity and NaN after shift and mask, which the factor would make finite. */
    private final int special;

    private HalfPanels(int shift, int mask, float factor, int special) {
        this.shift = shift;
        this.mask = mask;
        this.factor = factor;
        this.special = special;
    }

    /** Widens {@code rows} rows to rows of f32 panels, infinity and NaN included; {@code from} and {@code at} are offsets in bytes. */
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
                // an exponent of all ones becomes that of f32
                VectorMask<Float> isSpecial =
                        bits.and(special).compare(VectorOperators.EQ, special).cast(FLOATS);
                bits.reinterpretAsFloats()
                        .mul(factors)
                        .blend(bits.or(EXPONENT).reinterpretAsFloats(), isSpecial)
                        .intoMemorySegment(target, at + (row * PANEL + column) * WORD, ORDER);
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
}

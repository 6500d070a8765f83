package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.INTS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.tensor.DType;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/**
 * Panels of 16-bit elements, two to a word: a row of 32 columns is 16 words, column l the high half of word l and column l + 16
 * its low half. So one vector of words becomes two vectors of f32, for either type by the same instructions: shift, mask,
 * multiply with a power of two.
 *
 * <p>An f16 of sign s, exponent e and fraction f is the f32 of the same three times {@code 2^(15 - 127)}, subnormal or not;
 * exact, but infinity and NaN would become finite. Callers who read panels in passing keep those out; {@link #widen} does not
 * mind them.
 */
public final class Halves {
    private static final int EXPONENT = 0x7f800000;

    /** Loses nothing, so that a bit which the mask clears is special. */
    private static final Halves BF16 = new Halves(DType.BF16, 0, 0xffff0000, 1f, 1);

    private static final Halves F16 = new Halves(DType.F16, 3, 0x8fffe000, 0x1p112f, 0x0f800000);

    private final DType dtype;
    final int shift;
    final int mask;
    final float factor;
    /** The exponent that infinity and NaN have after shift and mask, where the factor would make them finite. */
    private final int special;

    private Halves(DType dtype, int shift, int mask, float factor, int special) {
        this.dtype = dtype;
        this.shift = shift;
        this.mask = mask;
        this.factor = factor;
        this.special = special;
    }

    /** Whether panels of the type are halves in {@code int[]}. */
    public static boolean holds(DType dtype) {
        return dtype == DType.BF16 || dtype == DType.F16;
    }

    /** The type's; it must be one that {@link #holds}. */
    static Halves of(DType dtype) {
        return dtype == DType.BF16 ? BF16 : F16;
    }

    /** Rows to f32, also what is not finite; {@code from} counts elements. */
    void widen(int[] words, int from, int rows, float[] to, int at) {
        IntVector masks = IntVector.broadcast(INTS, mask);
        FloatVector factors = FloatVector.broadcast(FLOATS, factor);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < PANEL; column += COUNT) {
                IntVector bits = IntVector.fromArray(INTS, words, from / 2 + row * HALF + column % HALF)
                        .lanewise(VectorOperators.LSHL, column / HALF * 16)
                        .lanewise(VectorOperators.ASHR, shift)
                        .and(masks);
                // an exponent of all ones becomes that of f32
                VectorMask<Float> lost =
                        bits.and(special).compare(VectorOperators.EQ, special).cast(FLOATS);
                bits.reinterpretAsFloats()
                        .mul(factors)
                        .blend(bits.or(EXPONENT).reinterpretAsFloats(), lost)
                        .intoArray(to, at + row * PANEL + column);
            }
        }
    }

    /** Rounds {@code length} floats to elements from {@code at} on, which counts elements; they may end within a row. */
    void narrow(float[] from, int start, int length, int[] words, int at) {
        for (int i = 0; i < length; i++) {
            short bits =
                    dtype == DType.BF16 ? DType.floatToBf16(from[start + i]) : Float.floatToFloat16(from[start + i]);
            int column = (at + i) % PANEL;
            int word = (at + i) / PANEL * HALF + column % HALF;
            int up = column < HALF ? 16 : 0;
            words[word] = words[word] & ~(0xffff << up) | (bits & 0xffff) << up;
        }
    }
}

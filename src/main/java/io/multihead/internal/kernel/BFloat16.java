package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.INTS;

import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/** Widens runs of bf16, the one 16-bit type for which a shift of each element is enough. */
public final class BFloat16 {
    /** As many shorts as there are floats in a vector, but no vector narrower than 64 bits. */
    private static final VectorSpecies<Short> SHORTS =
            VectorSpecies.of(short.class, VectorShape.forBitSize(Math.max(64, FLOATS.vectorBitSize() / 2)));

    private BFloat16() {}

    /** Widens {@code length} elements to f32; exact. */
    public static void widen(short[] from, int length, float[] to, int at) {
        int i = 0;
        for (; i <= length - SHORTS.length(); i += SHORTS.length()) {
            IntVector bits = (IntVector)
                    ShortVector.fromArray(SHORTS, from, i).convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0);
            bits.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats().intoArray(to, at + i);
        }
        for (; i < length; i++) {
            to[at + i] = Float.intBitsToFloat(from[i] << 16);
        }
    }
}

package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.INTS;

import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Widens runs of bf16, the only 16-bit type for which a shift of each element is enough. */
public final class BFloat16 {
    private static final VectorSpecies<Short> SHORTS = FLOATS.withLanes(short.class);

    private BFloat16() {}

    /** Widens {@code length} elements to f32, exactly. */
    public static void widen(short[] from, int length, float[] to, int at) {
        int i = 0;
        for (; i <= length - SHORTS.length(); i += SHORTS.length()) {
            ShortVector elements = ShortVector.fromArray(SHORTS, from, i);
            IntVector first = (IntVector) elements.convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0);
            IntVector second = (IntVector) elements.convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 1);
            first.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats().intoArray(to, at + i);
            second.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats().intoArray(to, at + i + COUNT);
        }
        for (; i < length; i++) {
            to[at + i] = Float.intBitsToFloat(from[i] << 16);
        }
    }
}

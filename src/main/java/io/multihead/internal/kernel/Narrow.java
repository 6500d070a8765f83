package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.INTS;

import io.multihead.tensor.DType;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Storage types to f32 and back, on Java arrays. Widening is exact (except f64, which rounds); narrowing rounds to nearest,
 * ties to even.
 */
final class Narrow {
    /** As many shorts as there are floats in a vector; null where that is less than the narrowest vector. */
    private static final VectorSpecies<Short> SHORTS =
            VectorSpecies.of(short.class, VectorShape.forBitSize(Math.max(64, FLOATS.vectorBitSize() / 2)));

    private Narrow() {}

    static void bf16ToFloat(short[] from, int length, float[] to, int at) {
        int i = 0;
        for (; i <= length - SHORTS.length(); i += SHORTS.length()) {
            IntVector bits = (IntVector)
                    ShortVector.fromArray(SHORTS, from, i).convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0);
            bits.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats().intoArray(to, at + i);
        }
        for (; i < length; i++) {
            to[at + i] = DType.bf16ToFloat(from[i]);
        }
    }

    static void f16ToFloat(short[] from, int length, float[] to, int at) {
        for (int i = 0; i < length; i++) {
            to[at + i] = Float.float16ToFloat(from[i]);
        }
    }

    static void i8ToFloat(byte[] from, int length, float[] to, int at) {
        for (int i = 0; i < length; i++) {
            to[at + i] = from[i];
        }
    }

    static void f64ToFloat(double[] from, int length, float[] to, int at) {
        for (int i = 0; i < length; i++) {
            to[at + i] = (float) from[i];
        }
    }

    static void floatToBf16(float[] from, int at, int length, short[] to) {
        for (int i = 0; i < length; i++) {
            to[i] = DType.floatToBf16(from[at + i]);
        }
    }

    static void floatToF16(float[] from, int at, int length, short[] to) {
        for (int i = 0; i < length; i++) {
            to[i] = Float.floatToFloat16(from[at + i]);
        }
    }

    static void floatToI8(float[] from, int at, int length, byte[] to) {
        for (int i = 0; i < length; i++) {
            to[i] = (byte) Math.clamp(Math.rint(from[at + i]), -128.0, 127.0);
        }
    }

    static void floatToF64(float[] from, int at, int length, double[] to) {
        for (int i = 0; i < length; i++) {
            to[i] = from[at + i];
        }
    }
}

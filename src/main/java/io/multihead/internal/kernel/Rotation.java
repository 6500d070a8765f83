package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorShuffle;

/**
 * Plane rotations of one row of scratch. Every length is a multiple of 32, so there are no tails; every product and sum
 * rounds once, so both layouts of pairs give the same bits.
 */
public final class Rotation {
    private static final VectorShuffle<Float> PARTNERS = VectorShuffle.fromOp(FLOATS, lane -> lane ^ 1);

    private Rotation() {}

    /**
     * {@code (a, b) = (a cos - b sin, b cos + a sin)} with {@code a} in the first {@code length} floats of the row and
     * {@code b} in the next.
     *
     * @param angles cosines from {@code at}, sines {@code length} further
     * @param direction 1, or -1 for the inverse
     */
    public static void halves(float[] row, int r0, int length, float[] angles, int at, float direction) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector cos = FloatVector.fromArray(FLOATS, angles, at + i);
            FloatVector sin =
                    FloatVector.fromArray(FLOATS, angles, at + length + i).mul(direction);
            FloatVector a = FloatVector.fromArray(FLOATS, row, r0 + i);
            FloatVector b = FloatVector.fromArray(FLOATS, row, r0 + length + i);
            a.mul(cos).sub(b.mul(sin)).intoArray(row, r0 + i);
            b.mul(cos).add(a.mul(sin)).intoArray(row, r0 + length + i);
        }
    }

    /**
     * The same with {@code a} and {@code b} side by side.
     *
     * @param angles every cosine twice from {@code at}; {@code length} further every sine twice, the first one negated
     * @param direction 1, or -1 for the inverse
     */
    public static void neighbours(float[] row, int r0, int length, float[] angles, int at, float direction) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector cos = FloatVector.fromArray(FLOATS, angles, at + i);
            FloatVector sin =
                    FloatVector.fromArray(FLOATS, angles, at + length + i).mul(direction);
            FloatVector x = FloatVector.fromArray(FLOATS, row, r0 + i);
            x.mul(cos).add(x.rearrange(PARTNERS).mul(sin)).intoArray(row, r0 + i);
        }
    }
}

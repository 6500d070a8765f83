package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorShuffle;

/**
 * Plane rotations of one row of scratch. Every multiplication and addition rounds once, so vectors, their tails and both layouts of pairs
 * give the same bits.
 */
public final class Rotation {
    private static final VectorShuffle<Float> PARTNERS = VectorShuffle.fromOp(FLOATS, lane -> lane ^ 1);

    private Rotation() {}

    /**
     * Computes {@code (a, b) = (a cos - b sin, b cos + a sin)} with {@code a} in the first {@code pairs} floats of the row and {@code b}
     * in the next {@code pairs} floats.
     *
     * @param angles cosines from {@code at}, and sines {@code pairs} floats later
     * @param direction 1, or -1 for the inverse
     */
    public static void halves(float[] row, int r0, int pairs, float[] angles, int at, float direction) {
        int i = 0;
        for (; i <= pairs - COUNT; i += COUNT) {
            FloatVector cos = FloatVector.fromArray(FLOATS, angles, at + i);
            FloatVector sin =
                    FloatVector.fromArray(FLOATS, angles, at + pairs + i).mul(direction);
            FloatVector a = FloatVector.fromArray(FLOATS, row, r0 + i);
            FloatVector b = FloatVector.fromArray(FLOATS, row, r0 + pairs + i);
            a.mul(cos).sub(b.mul(sin)).intoArray(row, r0 + i);
            b.mul(cos).add(a.mul(sin)).intoArray(row, r0 + pairs + i);
        }
        for (; i < pairs; i++) {
            pair(row, r0 + i, r0 + pairs + i, angles[at + i], angles[at + pairs + i] * direction);
        }
    }

    /**
     * Rotates as {@link #halves} does, with {@code a} and {@code b} interleaved.
     *
     * @param angles every cosine twice from {@code at}; {@code 2 pairs} floats later every sine twice, the first one negated
     * @param direction 1, or -1 for the inverse
     */
    public static void neighbors(float[] row, int r0, int pairs, float[] angles, int at, float direction) {
        int length = 2 * pairs;
        int i = 0;
        for (; i <= length - COUNT; i += COUNT) {
            FloatVector cos = FloatVector.fromArray(FLOATS, angles, at + i);
            FloatVector sin =
                    FloatVector.fromArray(FLOATS, angles, at + length + i).mul(direction);
            FloatVector x = FloatVector.fromArray(FLOATS, row, r0 + i);
            x.mul(cos).add(x.rearrange(PARTNERS).mul(sin)).intoArray(row, r0 + i);
        }
        for (; i < length; i += 2) {
            pair(row, r0 + i, r0 + i + 1, angles[at + i], angles[at + length + i + 1] * direction);
        }
    }

    public static void pair(float[] row, int first, int second, float cos, float sin) {
        float a = row[first];
        float b = row[second];
        row[first] = a * cos - b * sin;
        row[second] = b * cos + a * sin;
    }
}

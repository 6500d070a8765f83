package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import jdk.incubator.vector.FloatVector;

/** Adds tiles that {@link MicroKernel} has stored to C: a kernel of its own, since a tile that does it too reaches C2's limit of nodes. */
public final class TileSums {
    private TileSums() {}

    /** Adds a tile T, whose rows are one panel apart and whose vectors are {@code apart} columns apart: C += T. */
    public static void add(float[] t, float[] c, int c0, int ldc, int rows, int apart) {
        int second = Lanes.second(apart);
        for (int row = 0; row < rows; row++) {
            int at = c0 + row * ldc;
            FloatVector left = FloatVector.fromArray(FLOATS, t, row * PANEL);
            FloatVector right = FloatVector.fromArray(FLOATS, t, row * PANEL + second);
            FloatVector.fromArray(FLOATS, c, at).add(left).intoArray(c, at);
            FloatVector.fromArray(FLOATS, c, at + second).add(right).intoArray(c, at + second);
        }
    }

    /**
     * Adds a tile as {@link #add} does, with compensation (Kahan 1965): the rounding error of each element is stored {@code lost}
     * floats after it and added the next time.
     */
    public static void addCompensated(float[] t, int t0, float[] c, int c0, int ldc, int lost, int rows, int apart) {
        int second = Lanes.second(apart);
        for (int row = 0; row < rows; row++) {
            int at = c0 + row * ldc;
            FloatVector left = FloatVector.fromArray(FLOATS, c, at);
            FloatVector right = FloatVector.fromArray(FLOATS, c, at + second);
            FloatVector leftTile =
                    FloatVector.fromArray(FLOATS, t, t0 + row * PANEL).add(FloatVector.fromArray(FLOATS, c, at + lost));
            FloatVector rightTile = FloatVector.fromArray(FLOATS, t, t0 + row * PANEL + second)
                    .add(FloatVector.fromArray(FLOATS, c, at + lost + second));
            FloatVector leftSum = left.add(leftTile);
            FloatVector rightSum = right.add(rightTile);
            leftTile.sub(leftSum.sub(left)).intoArray(c, at + lost);
            rightTile.sub(rightSum.sub(right)).intoArray(c, at + lost + second);
            leftSum.intoArray(c, at);
            rightSum.intoArray(c, at + second);
        }
    }
}

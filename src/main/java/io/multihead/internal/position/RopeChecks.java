package io.multihead.internal.position;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TokenPositions;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;

/** Checks of the arguments of a rotation, made before anything is written. */
public final class RopeChecks {
    private static final int MAX_PAIRS = 1 << 15;

    private RopeChecks() {}

    /** Fails unless a rotation of leading elements of {@code x} can be written to {@code y}. */
    public static void requireTensors(Compute cpu, Tensor x, Tensor y, int rotaryDims) {
        Checks.notNull(cpu, "cpu");
        if (Checks.notNull(x, "x").rank() != 4) {
            throw Checks.fail("x", "shape " + x.shape(), "expected [batch, heads, tokens, headDim]");
        }
        TensorChecks.requireShape(y, "y", x.shape());
        if (x.dim(3) < rotaryDims) {
            throw Checks.fail("x", "shape " + x.shape(), "expected a headDim of at least rotaryDims " + rotaryDims);
        }
        Checks.fitsInt(x.dim(3), "headDim");
        TensorChecks.requireFloating(x, "x");
        TensorChecks.requireAccess(cpu, x, "x");
        TensorChecks.requireWritable(cpu, y, "y");
        if (!sameElements(x, y)) {
            TensorChecks.requireApart(y, "y", x, "x");
        }
    }

    /**
     * Fails unless both hold floating-point numbers in rows of 1 to 32768 pairs, and have one shape of {@code minRank} to {@code maxRank}
     * axes.
     */
    public static void requireTables(Tensor cos, Tensor sin, int minRank, int maxRank, String expected) {
        TensorChecks.requireFloating(cos, "cos");
        TensorChecks.requireFloating(sin, "sin");
        if (cos.rank() < minRank || cos.rank() > maxRank || cos.dim(-1) < 1 || cos.dim(-1) > MAX_PAIRS) {
            throw Checks.fail(
                    "cos", "shape " + cos.shape(), "expected " + expected + ", 1 to " + MAX_PAIRS + " columns");
        }
        TensorChecks.requireShape(sin, "sin", cos.shape());
    }

    /** Fails unless a row of one head is in the array. */
    public static void requireRow(float[] row, int at, int rotaryDims) {
        int length = Checks.notNull(row, "row").length;
        if (at < 0 || at > length - rotaryDims) {
            throw Checks.fail(
                    "at", String.valueOf(at), "expected " + rotaryDims + " floats from there on, of " + length);
        }
    }

    /**
     * Fails unless there is an angle for every one of consecutive tokens.
     *
     * @param rope the source of the angles, for the message
     */
    public static void requirePositions(PositionAngles angles, Tensor x, long first, Object rope) {
        long limit = angles.positions() - x.dim(2);
        if (first < 0 || first > limit) {
            String range = limit < 0 ? "at most " + angles.positions() + " tokens" : "0 to " + limit;
            throw Checks.fail(
                    "firstPosition",
                    String.valueOf(first),
                    "expected " + range + " for the " + x.dim(2) + " tokens of x " + x.shape() + ", given "
                            + angles.positions() + " positions of " + rope);
        }
    }

    /**
     * Fails unless there is a position for every token, and an angle for every position.
     *
     * @param rope the source of the angles, for the message
     */
    public static void requirePositions(PositionAngles angles, Tensor x, long[] positions, Object rope) {
        TokenPositions.requireLength(positions, angles.streams(), x.dim(0), x.dim(2), x.shape());
        TokenPositions.requireRange(positions, angles.positions(), rope);
    }

    /** Returns whether both are views of the same elements in the same order; their shapes are equal. */
    static boolean sameElements(Tensor x, Tensor y) {
        if (x == y) {
            return true;
        }
        boolean same =
                x.dtype() == y.dtype() && x.offset() == y.offset() && x.memory().equals(y.memory());
        for (int axis = 0; same && axis < 4; axis++) {
            same = x.dim(axis) == 1 || x.stride(axis) == y.stride(axis);
        }
        return same;
    }
}

package io.multihead.position;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TokenPositions;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;

/** Checks of the arguments of a rotation, made before anything is written. */
final class RopeChecks {
    private static final int MAX_PAIRS = 1 << 15;

    private RopeChecks() {}

    static void requireTensors(Compute cpu, Tensor x, Tensor y, int rotaryDims) {
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

    /** Fails unless both hold floating numbers in rows of 1 to 32768 pairs, and have one shape with {@code minRank} to {@code maxRank} axes. */
    static void requireTables(Tensor cos, Tensor sin, int minRank, int maxRank, String expected) {
        TensorChecks.requireFloating(cos, "cos");
        TensorChecks.requireFloating(sin, "sin");
        if (cos.rank() < minRank || cos.rank() > maxRank || cos.dim(-1) < 1 || cos.dim(-1) > MAX_PAIRS) {
            throw Checks.fail(
                    "cos", "shape " + cos.shape(), "expected " + expected + ", 1 to " + MAX_PAIRS + " columns");
        }
        TensorChecks.requireShape(sin, "sin", cos.shape());
    }

    /** Fails if a copy of both tables is more memory than the JVM can ever have. */
    static void requireHeap(Tensor cos, AngleLayout layout) {
        long most = Runtime.getRuntime().maxMemory() / ((long) layout.floats() * Float.BYTES);
        if (cos.dim(0) > Math.min(most, Checks.MAX_ARRAY_LENGTH)) {
            throw Checks.fail(
                    "cos",
                    "shape " + cos.shape(),
                    "expected at most " + most + " positions in a heap of "
                            + Runtime.getRuntime().maxMemory() + " bytes (-Xmx), which holds a copy");
        }
    }

    static void requireRow(Rope rope, float[] row, int at) {
        int length = Checks.notNull(row, "row").length;
        if (at < 0 || at > length - rope.rotaryDims()) {
            throw Checks.fail(
                    "at", String.valueOf(at), "expected " + rope.rotaryDims() + " floats from there on, of " + length);
        }
    }

    static void requirePositions(Rope rope, Tensor x, long first) {
        long limit = rope.positions() - x.dim(2);
        if (first < 0 || first > limit) {
            String range = limit < 0 ? "at most " + rope.positions() + " tokens" : "0 to " + limit;
            throw Checks.fail(
                    "firstPosition",
                    String.valueOf(first),
                    "expected " + range + " for the " + x.dim(2) + " tokens of x " + x.shape() + ", given "
                            + rope.positions() + " positions of " + rope);
        }
    }

    static void requirePositions(Rope rope, Tensor x, long[] positions) {
        TokenPositions.requireLength(positions, rope.streams(), x.dim(0), x.dim(2), x.shape());
        TokenPositions.requireRange(positions, rope.positions(), rope);
    }

    /** Whether both are views of the same elements in the same order; their shapes are equal. */
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

package io.multihead.position;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;

/** What must hold before a rotation writes anything. */
final class RopeChecks {
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

    static void requirePositions(Tensor x, long first) {
        long limit = Rope.POSITIONS - x.dim(2);
        if (first < 0 || first > limit) {
            throw Checks.fail(
                    "firstPosition",
                    String.valueOf(first),
                    "expected 0 to " + limit + " for the " + x.dim(2) + " tokens of x " + x.shape());
        }
    }

    static void requirePositions(Tensor x, long[] positions) {
        if (Checks.notNull(positions, "positions").length != x.dim(2)) {
            throw Checks.fail(
                    "positions",
                    "length " + positions.length,
                    "expected " + x.dim(2) + ", one per token of x " + x.shape());
        }
        for (int token = 0; token < positions.length; token++) {
            if (!isPosition(positions[token])) {
                requirePosition(positions[token], "positions[" + token + "]");
            }
        }
    }

    static void requirePosition(long position, String argument) {
        if (!isPosition(position)) {
            throw Checks.fail(argument, String.valueOf(position), "expected 0 to " + (Rope.POSITIONS - 1));
        }
    }

    private static boolean isPosition(long position) {
        return position >= 0 && position < Rope.POSITIONS;
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

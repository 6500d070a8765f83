package io.multihead.gemm;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Checks the arguments of a multiplication before anything is written. */
final class GemmChecks {
    private GemmChecks() {}

    static void requireMatrix(Tensor tensor, String argument) {
        if (Checks.notNull(tensor, argument).rank() < 2) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected [..., rows, columns]");
        }
    }

    /** Fails unless A and B, already transposed as the options say, fit each other and C. */
    static void requireOperands(
            Compute cpu, Tensor a, @Nullable Tensor b, @Nullable PackedWeights packed, Tensor c, GemmOptions options) {
        requireMatrix(c, "c");
        requireBatch(a, options.transposeA(), c, "a");
        long depth = a.dim(-1);
        if (a.dim(-2) != c.dim(-2)) {
            throw Checks.fail(
                    "a", given(a, options.transposeA()), "expected " + c.dim(-2) + " rows, as in c " + c.shape());
        }
        if (b != null) {
            requireBatch(b, options.transposeB(), c, "b");
            requireRight(b.dim(-2), b.dim(-1), depth, c, b, options.transposeB());
            requireApart(cpu, b, c, "b");
        } else if (packed != null) {
            requireRight(packed.inputs(), packed.outputs(), depth, c, null, false);
            Operation.execution(cpu).requireAccess(packed.matrix().segment(), "b");
        }
        requireApart(cpu, a, c, "a");
        TensorChecks.requireAccess(cpu, c, "c");
        TensorChecks.requireOwnStorage(c, "c");
    }

    static void requireBias(Compute cpu, Tensor c, @Nullable Tensor bias) {
        if (bias != null) {
            if (bias.dim(0) != c.dim(-1)) {
                throw Checks.fail(
                        "bias", "shape " + bias.shape(), "expected [" + c.dim(-1) + "], as in c " + c.shape());
            }
            requireApart(cpu, bias, c, "bias");
        }
    }

    /** Returns the shape that the caller gave. */
    private static String given(Tensor matrix, boolean transposed) {
        return transposed ? "shape " + matrix.transpose(-2, -1).shape() + " transposed" : "shape " + matrix.shape();
    }

    private static void requireRight(
            long inputs, long outputs, long depth, Tensor c, @Nullable Tensor b, boolean transposed) {
        if (inputs != depth || outputs != c.dim(-1)) {
            throw Checks.fail(
                    "b",
                    (b == null ? "packed" : given(b, transposed)) + " with " + inputs + " rows and " + outputs
                            + " columns",
                    "expected " + depth + " rows as a has columns, and " + c.dim(-1) + " columns, as in c "
                            + c.shape());
        }
    }

    /** Requires that the leading axes broadcast to those of C. */
    private static void requireBatch(Tensor operand, boolean transposed, Tensor c, String argument) {
        int missing = c.rank() - operand.rank();
        for (int axis = 0; axis < operand.rank() - 2; axis++) {
            long size = operand.dim(axis);
            if (missing < 0 || (size != 1 && size != c.dim(axis + missing))) {
                throw Checks.fail(
                        argument, given(operand, transposed), "expected batch axes as in c " + c.shape() + ", or 1");
            }
        }
    }

    private static void requireApart(Compute cpu, Tensor operand, Tensor c, String argument) {
        TensorChecks.requireAccess(cpu, operand, argument);
        TensorChecks.requireApart(c, "c", operand, argument);
    }
}

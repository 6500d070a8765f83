package io.multihead.gemm;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks the arguments of a multiplication before anything is written. */
final class GemmChecks {
    private GemmChecks() {}

    static void requireMatrix(Tensor tensor, String argument) {
        if (Checks.notNull(tensor, argument).rank() < 2) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected [..., rows, columns]");
        }
    }

    /** Fails unless A and B, already transposed according to the options, fit each other and C. */
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
            boolean swap = options.transposeB();
            long rows = swap ? packed.outputs() : packed.inputs();
            requireRight(rows, swap ? packed.inputs() : packed.outputs(), depth, c, null, swap);
            Operation.execution(cpu).requireAccess(packed.matrix().segment(), "b");
        }
        requireApart(cpu, a, c, "a");
        TensorChecks.requireAccess(cpu, c, "c");
        TensorChecks.requireOwnStorage(c, "c");
    }

    static Tensor left(Tensor a, GemmOptions options) {
        return options.transposeA() ? a.transpose(-2, -1) : a;
    }

    static void requirePackedOptions(GemmOptions options) {
        if (Checks.notNull(options, "options").transposeB()) {
            throw Checks.fail(
                    "options",
                    "transposeB with packed weights",
                    "expected false, with weights packed as [inputs, outputs]");
        }
    }

    /** Fails unless each product of a group could be a separate call, and no result overlaps another result or a bias. */
    static void requireGroup(Compute cpu, Tensor a, List<PackedWeights> b, List<Tensor> c, List<GemmOptions> options) {
        int count = Checks.notNull(b, "b").size();
        if (count == 0) {
            throw Checks.fail("b", "empty", "expected weights");
        }
        Checks.length(Checks.notNull(c, "c").size(), count, "c", "as many as b");
        Checks.length(Checks.notNull(options, "options").size(), count, "options", "as many as b");
        for (int i = 0; i < count; i++) {
            try {
                requireProduct(cpu, a, i, b, c, options);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("product " + i + ": " + e.getMessage(), e);
            }
        }
    }

    private static void requireProduct(
            Compute cpu, Tensor a, int i, List<PackedWeights> b, List<Tensor> c, List<GemmOptions> options) {
        GemmOptions own = options.get(i);
        requirePackedOptions(own);
        Tensor result = c.get(i);
        requireOperands(cpu, left(a, own), null, Checks.notNull(b.get(i), "b"), result, own);
        requireBias(cpu, result, own.bias());
        for (int other = 0; other < c.size(); other++) {
            if (other != i) {
                requireApart(result, Checks.notNull(c.get(other), "c"), "c of product ", other);
                Tensor bias = Checks.notNull(options.get(other), "options").bias();
                if (bias != null) {
                    requireApart(result, bias, "bias of product ", other);
                }
            }
        }
    }

    /** Fails unless groups of rows are products that could be separate calls. */
    static void requireRowGroups(
            Compute cpu, Tensor a, int[] starts, List<PackedWeights> b, List<Tensor> c, List<GemmOptions> options) {
        if (Checks.notNull(a, "a").rank() != 2) {
            throw Checks.fail("a", "shape " + a.shape(), "expected [rows, columns]");
        }
        int results = Checks.notNull(c, "c").size();
        int products = Checks.notNull(b, "b").size();
        if (results == 0 || products % results != 0) {
            throw Checks.fail("b", products + " weights", "expected a multiple of " + results + ", as many as c");
        }
        Checks.length(Checks.notNull(options, "options").size(), products, "options", "as many as b");
        requireStarts(starts, products / results, a.dim(0));
        for (int i = 0; i < results; i++) {
            Tensor result = Checks.notNull(c.get(i), "c");
            for (int other = 0; other < i; other++) {
                requireApart(result, c.get(other), "c of product ", other);
            }
        }
        for (int i = 0; i < products; i++) {
            if (starts[i / results + 1] > starts[i / results]) {
                GemmOptions own = options.get(i);
                requirePackedOptions(own);
                if (own.transposeA()) {
                    throw Checks.fail("options", "transposeA with groups of rows", "expected false");
                }
                Tensor result = c.get(i % results);
                requireOperands(cpu, a, null, Checks.notNull(b.get(i), "b"), result, own);
                requireBias(cpu, result, own.bias());
            }
        }
    }

    private static void requireStarts(int[] starts, int groups, long rows) {
        if (Checks.notNull(starts, "starts").length <= groups) {
            throw Checks.fail(
                    "starts", starts.length + " elements", "expected " + (groups + 1) + ", one per group and an end");
        }
        boolean ascend = starts[0] == 0 && starts[groups] == rows;
        for (int group = 0; group < groups && ascend; group++) {
            ascend = starts[group] <= starts[group + 1];
        }
        if (!ascend) {
            throw Checks.fail("starts", Arrays.toString(starts), "expected 0 to " + rows + ", ascending");
        }
    }

    /** Fails if a result overlaps another tensor; the message is made only for an error. */
    private static void requireApart(Tensor result, Tensor other, String name, int product) {
        if (result.overlaps(other)) {
            throw TensorFaults.overlap("c", result, name + product);
        }
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
                    (b == null ? transposed ? "packed, transposed," : "packed" : given(b, transposed)) + " with "
                            + inputs + " rows and " + outputs + " columns",
                    "expected " + depth + " rows as a has columns, and " + c.dim(-1) + " columns, as in c "
                            + c.shape());
        }
    }

    /** Requires that the leading axes broadcast to the leading axes of C. */
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

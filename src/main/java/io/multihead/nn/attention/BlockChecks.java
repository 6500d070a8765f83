package io.multihead.nn.attention;

import io.multihead.gemm.Activation;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Shape;

/** Checks of the settings that blocks share. */
final class BlockChecks {
    private BlockChecks() {}

    static void require(
            MultiHeadConfig attention, long feedForward, Activation activation, double dropout, double epsilon) {
        Checks.notNull(attention, "attention");
        Checks.notNull(activation, "activation");
        Checks.atLeast(feedForward, 1, "feedForward");
        Checks.probability(dropout, "dropout");
        if (!(epsilon >= 0 && epsilon < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("epsilon", String.valueOf(epsilon), "expected a finite number of at least 0");
        }
        Shape output = attention.outputShape();
        if (!output.equals(Shape.of(attention.embedDim()))) {
            throw Checks.fail(
                    "attention", "output shape " + output, "expected [" + attention.embedDim() + "], as the input has");
        }
    }
}

package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCase;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Promises;
import io.multihead.tensor.DType;
import java.lang.foreign.Arena;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import net.jqwik.api.lifecycle.AfterContainer;

/** Attention forward against its specification, over everything a call can vary. */
@Tag("lanes")
class AttentionProperties {
    private static final Compute CPU = Compute.serial();

    private static double worst;
    private static double worstOrdinary;

    @AfterContainer
    static void record() {
        Promises.FORWARD_ANY.record(worst);
        Promises.FORWARD.record(worstOrdinary);
    }

    @Provide
    Arbitrary<AttentionCase> cases() {
        return AttentionCase.any();
    }

    @Property(tries = 1500, edgeCases = EdgeCasesMode.NONE)
    void tiledStaysWithinTheBound(@ForAll("cases") AttentionCase attentionCase) {
        check(attentionCase, false);
    }

    @Property(tries = 700, edgeCases = EdgeCasesMode.NONE)
    void wholeRowsStayWithinTheBound(@ForAll("cases") AttentionCase attentionCase) {
        check(attentionCase, true);
    }

    /** Shrunk from a failure: one dominant key, whose weight must be exactly 1 before it is normalised. */
    @Example
    void aDominantKeyKeepsItsWeight() {
        check(
                new AttentionCase(
                        new AttentionCase.Sizes(1, 1, 1, 1, 9, 3, 23),
                        AttentionCase.MaskKind.KEEP,
                        3.0,
                        1.0,
                        new AttentionCase.Storage(DType.F32, DType.F32, DType.F32, Layout.DENSE, Layout.DENSE),
                        384),
                true);
    }

    /** Shrunk from a failure: a score of 0.5 whose partial sums reach 50, and lose as much. */
    @Example
    void aScoreLosesWhatItsPartialSumsLose() {
        check(
                new AttentionCase(
                        new AttentionCase.Sizes(1, 1, 1, 1, 1, 128, 1),
                        AttentionCase.MaskKind.NONE,
                        3.0,
                        0.0,
                        new AttentionCase.Storage(DType.F32, DType.BF16, DType.F32, Layout.DENSE, Layout.DENSE),
                        5),
                false);
    }

    private static void check(AttentionCase attentionCase, boolean weights) {
        try (Arena arena = Arena.ofConfined()) {
            AttentionCase.Built built = attentionCase.build(arena);
            DType dtype = attentionCase.storage().output();
            AttentionOutputs outputs =
                    built.outputs(arena, attentionCase.storage().results(), dtype, weights);
            built.run(CPU, outputs);
            ReferenceAttention.Result expected = built.reference();
            boolean ordinary = attentionCase.mean() == 0 && expected.maxScore() <= 10;
            double ratio =
                    Tolerance.ratio(Numbers.of(outputs.output()), expected.output(), expected.errorScale(), dtype);
            double limit = ordinary ? Tolerance.FORWARD_ORDINARY : Tolerance.FORWARD;
            if (ordinary) {
                worstOrdinary = Math.max(worstOrdinary, ratio);
            } else {
                worst = Math.max(worst, ratio);
            }
            assertTrue(ratio <= limit, () -> "R = " + ratio + ", limit " + limit);
            checkLogSumExp(Numbers.of(outputs.logSumExp()), expected);
            assertTrue(Layout.untouchedOutside(outputs.output()), "bytes around the output");
            assertTrue(Layout.untouchedOutside(outputs.logSumExp()), "bytes around logSumExp");
            if (weights) {
                checkWeights(Numbers.of(outputs.weights()), expected);
                assertTrue(Layout.untouchedOutside(outputs.weights()), "bytes around the weights");
            }
        }
    }

    /** The scores' own error; 16 u (1 + |s|) is above what scale, exponentials and sums add, and the store adds u |lse|. */
    static void checkLogSumExp(double[] actual, ReferenceAttention.Result expected) {
        for (int row = 0; row < actual.length; row++) {
            double exact = expected.logSumExp()[row];
            if (exact == Double.NEGATIVE_INFINITY) {
                assertEquals(exact, actual[row]);
            } else {
                double rest = 0x1p-24 * (16 * (1 + expected.maxScore()) + Math.abs(exact));
                double tolerance = expected.scoreError() + rest;
                assertTrue(Math.abs(actual[row] - exact) <= tolerance, "logSumExp " + actual[row] + " for " + exact);
            }
        }
    }

    /** A weight {@code e^(s - lse)} is off by what its score and lse are off, relative to itself. */
    static void checkWeights(double[] actual, ReferenceAttention.Result expected) {
        double relative = 2 * expected.scoreError() + 0x1p-24 * (32 * (1 + expected.maxScore()) + 8);
        for (int i = 0; i < actual.length; i++) {
            double exact = expected.weights()[i];
            assertTrue(
                    Math.abs(actual[i] - exact) <= relative * exact + 0x1p-126,
                    "weight " + actual[i] + " for " + exact);
        }
    }
}

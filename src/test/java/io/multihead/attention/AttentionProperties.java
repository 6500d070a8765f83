package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.support.AttentionCase;
import io.multihead.support.AttentionCheck;
import io.multihead.support.Layout;
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

/** Attention forward is compared with its specification for random sizes, types, layouts and masks. */
@Tag("lanes")
@Tag("bits")
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

    /** A reduced failure: the weight of a dominant key must be exactly 1 before it is normalized. */
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

    /** A reduced failure: a score is 0.5, but its partial sums reach 50 and have the rounding errors of numbers near 50. */
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
            AttentionCheck.Error error = AttentionCheck.all(attentionCase, outputs, built.reference());
            if (error.ordinary()) {
                worstOrdinary = Math.max(worstOrdinary, error.ratio());
            } else {
                worst = Math.max(worst, error.ratio());
            }
        }
    }
}

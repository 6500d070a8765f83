package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCase;
import io.multihead.support.Golden;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Promises;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The specification agrees with every {@code sdpa} vector to float64 precision, and the kernels agree to 1e-6 of the largest value. */
@Tag("lanes")
class AttentionGoldenTest {
    private static double worst;

    @AfterAll
    static void record() {
        Promises.PYTORCH.record(worst);
    }

    @Test
    void allFilesAreHere() {
        assertEquals(26, Golden.names("sdpa/").count());
    }

    @TestFactory
    Stream<DynamicTest> specificationEqualsPyTorch() {
        return Golden.names("sdpa/")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    ReferenceAttention.Result result = reference(golden);
                    assertClose(Numbers.of(golden.tensor("expected.out")), result.output(), 1e-13);
                    assertClose(Numbers.of(golden.tensor("expected.lse")), result.logSumExp(), 1e-13);
                }));
    }

    @TestFactory
    Stream<DynamicTest> kernelsEqualPyTorch() {
        return Golden.names("sdpa/")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    for (boolean weights : new boolean[] {false, true}) {
                        check(Golden.open(name), weights);
                    }
                }));
    }

    /** Returns the options of a golden vector. */
    static AttentionOptions options(Golden golden) {
        Tensor mask = golden.find("attn_mask");
        Mask made = mask == null ? Mask.NONE : mask.dtype() == DType.I8 ? Mask.keep(mask) : Mask.bias(mask);
        made = golden.meta("is_causal").equals("true") ? made.and(Mask.CAUSAL_TOP_LEFT) : made;
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(made);
        return golden.meta("scale").equals("default") ? options : options.withScale(scale(golden));
    }

    private static void check(Golden golden, boolean weights) {
        Tensor q = golden.tensor("q");
        Tensor k = golden.tensor("k");
        Tensor v = golden.tensor("v");
        AttentionOptions options = options(golden);
        try (Arena arena = Arena.ofConfined()) {
            var built = new AttentionCase.Built(q, k, v, options, ScoreRule.NONE, 0);
            AttentionOutputs outputs = built.outputs(arena, Layout.DENSE, DType.F32, weights);
            Attention.forward(Compute.serial(), q, k, v, outputs, options);
            double[] expected = Numbers.of(golden.tensor("expected.out"));
            assertClose(expected, Numbers.of(outputs.output()), 1e-6);
            assertClose(Numbers.of(golden.tensor("expected.lse")), Numbers.of(outputs.logSumExp()), 1e-6);
            worst = Math.max(worst, error(expected, Numbers.of(outputs.output())));
            double ratio = Tolerance.ratio(
                    Numbers.of(outputs.output()), expected, reference(golden).errorScale(), DType.F32);
            assertTrue(ratio <= Tolerance.FORWARD, "R = " + ratio);
        }
    }

    private static ReferenceAttention.Result reference(Golden golden) {
        return call(golden, ReferenceDropout.NONE).forward();
    }

    /** Returns the inputs of a golden vector as a call of the specification. */
    static ReferenceAttention.Call call(Golden golden, ReferenceDropout dropout) {
        Tensor mask = golden.find("attn_mask");
        ScoreRule rule =
                mask == null ? ScoreRule.NONE : mask.dtype() == DType.I8 ? ScoreRule.keep(mask) : ScoreRule.bias(mask);
        rule = golden.meta("is_causal").equals("true") ? rule.and(ScoreRule.causalTopLeft()) : rule;
        return new ReferenceAttention.Call(
                golden.tensor("q"), golden.tensor("k"), golden.tensor("v"), scale(golden), rule, dropout);
    }

    private static double scale(Golden golden) {
        return Double.parseDouble(golden.meta("scale_value"));
    }

    private static double error(double[] expected, double[] actual) {
        double scale = Arrays.stream(expected).map(Math::abs).max().orElse(1);
        double error = 0;
        for (int i = 0; i < expected.length; i++) {
            error = Math.max(error, Math.abs(expected[i] - actual[i]) / Math.max(scale, Double.MIN_NORMAL));
        }
        return error;
    }

    /** Errors are relative to the largest value. An expected minus infinity must be matched exactly. */
    static void assertClose(double[] expected, double[] actual, double tolerance) {
        assertEquals(expected.length, actual.length);
        double scale = Arrays.stream(expected)
                .filter(Double::isFinite)
                .map(Math::abs)
                .max()
                .orElse(1);
        for (int i = 0; i < expected.length; i++) {
            if (Double.isFinite(expected[i])) {
                assertTrue(
                        Math.abs(actual[i] - expected[i]) <= tolerance * scale,
                        "element " + i + ": " + actual[i] + " for " + expected[i]);
            } else {
                assertEquals(expected[i], actual[i], "element " + i);
            }
        }
    }
}

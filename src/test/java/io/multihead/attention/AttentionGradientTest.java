package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttentionGradient;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.Tolerance;
import io.multihead.support.Golden;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Attention backward is compared with PyTorch's vectors, and is called with edge cases and illegal arguments. */
@Tag("lanes")
class AttentionGradientTest {
    private static final Compute CPU = Compute.serial();

    private final AttentionOutputs outputs =
            AttentionOutputs.of(zeros(2, 4, 5, 3)).withLogSumExp(zeros(2, 4, 5)).withWeights(zeros(2, 4, 5, 6));
    private final AttentionPass pass = new AttentionPass(
            zeros(2, 4, 5, 8), zeros(2, 2, 6, 8), zeros(2, 2, 6, 3), outputs, AttentionOptions.DEFAULT);
    private final AttentionGradients gradients =
            AttentionGradients.of(zeros(2, 4, 5, 8), zeros(2, 2, 6, 8), zeros(2, 2, 6, 3));
    private final Tensor upstream = zeros(2, 4, 5, 3);

    @Test
    void goldenGradientsAreHere() {
        assertEquals(23, withGradients().count());
    }

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        return withGradients().map(name -> DynamicTest.dynamicTest(name, () -> check(Golden.open(name))));
    }

    private static Stream<String> withGradients() {
        return Golden.names("sdpa/").filter(name -> Golden.open(name).find("expected.grad_q") != null);
    }

    private static void check(Golden golden) {
        try (Arena arena = Arena.ofConfined()) {
            AttentionOptions options = AttentionGoldenTest.options(golden);
            Tensor q = golden.tensor("q");
            Tensor k = golden.tensor("k");
            Tensor v = golden.tensor("v");
            Shape shape = golden.tensor("expected.out").shape();
            AttentionOutputs outputs = AttentionOutputs.of(Tensor.allocate(arena, DType.F32, shape))
                    .withLogSumExp(
                            Tensor.allocate(arena, DType.F64, Shape.of(shape.dim(0), shape.dim(1), shape.dim(2))));
            Attention.forward(CPU, q, k, v, outputs, options);
            Tensor bias = golden.find("expected.grad_attn_mask");
            AttentionGradients gradients = AttentionGradients.of(
                            Tensor.allocate(arena, DType.F32, q.shape()),
                            Tensor.allocate(arena, DType.F32, k.shape()),
                            Tensor.allocate(arena, DType.F32, v.shape()))
                    .withBias(bias == null ? null : Tensor.allocate(arena, DType.F32, bias.shape()));
            Attention.backward(CPU, new AttentionPass(q, k, v, outputs, options), golden.tensor("grad_out"), gradients);
            ReferenceAttentionGradient.Result reference = ReferenceAttentionGradient.of(
                    AttentionGoldenTest.call(golden, ReferenceDropout.NONE),
                    new ReferenceAttentionGradient.Upstream(golden.tensor("grad_out"), null, null));
            // an f32 score of size s has an error of u s, and its weight has a relative error of u s; 1e-6 is u * 16.8
            double limit = Math.max(1e-6, 0x1p-24 * reference.maxScore());
            close(golden.tensor("expected.grad_q"), reference.query(), gradients.query(), limit);
            close(golden.tensor("expected.grad_k"), reference.key(), gradients.key(), limit);
            close(golden.tensor("expected.grad_v"), reference.value(), gradients.value(), limit);
            if (bias != null) {
                AttentionGoldenTest.assertClose(Numbers.of(bias), Numbers.of(gradients.bias()), 1e-6);
            }
        }
    }

    /**
     * Compares the specification to the precision of f64, and the kernel to {@code limit}, relative to the largest value, and to its error
     * bound.
     */
    private static void close(Tensor expected, ReferenceAttentionGradient.Part reference, Tensor actual, double limit) {
        double[] values = Numbers.of(expected);
        AttentionGoldenTest.assertClose(values, reference.values(), 1e-12);
        AttentionGoldenTest.assertClose(values, Numbers.of(actual), limit);
        double ratio = Tolerance.ratio(Numbers.of(actual), values, reference.errorScale(), DType.F32);
        assertTrue(ratio <= Tolerance.BACKWARD, "R = " + ratio);
    }

    @Test
    void dropoutOfRateZeroIsNone() {
        AttentionOptions none = AttentionOptions.CAUSAL;
        AttentionOptions zero = none.withDropout(new AttentionDropout(0, 99));
        assertArrayEquals(gradientOf(none), gradientOf(zero));
    }

    @Test
    void aRowWithoutKeysHasGradientZero() {
        Tensor query = Numbers.fill(zeros(1, 1, 3, 4), () -> 1);
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.keyLengths(0));
        AttentionOutputs dead = AttentionOutputs.of(zeros(1, 1, 3, 4)).withLogSumExp(zeros(1, 1, 3));
        Attention.forward(CPU, query, query, query, dead, options);
        AttentionGradients to = AttentionGradients.of(filled(1, 1, 3, 4), filled(1, 1, 3, 4), filled(1, 1, 3, 4));
        Attention.backward(CPU, new AttentionPass(query, query, query, dead, options), query, to);
        for (Tensor tensor : new Tensor[] {to.query(), to.key(), to.value()}) {
            for (float element : tensor.toArray()) {
                assertEquals(0, Float.floatToRawIntBits(element), "+0");
            }
        }
    }

    @Test
    void wrongShapesAreRefused() {
        fails("outputGradient: shape [2, 4, 5, 4]; expected [2, 4, 5, 3]", zeros(2, 4, 5, 4), p -> p);
        fails(
                "query gradient: shape [2, 4, 5]; expected [2, 4, 5, 8]",
                upstream,
                g -> AttentionGradients.of(zeros(2, 4, 5), g.key(), g.value()));
        fails(
                "key gradient: shape [2, 6, 2, 8]; expected [2, 2, 6, 8]",
                upstream,
                g -> AttentionGradients.of(g.query(), zeros(2, 6, 2, 8), g.value()));
        fails(
                "value gradient: shape [1]; expected [2, 2, 6, 3]",
                upstream,
                g -> AttentionGradients.of(g.query(), g.key(), zeros(1)));
        fails(
                "bias gradient: shape [5, 6]; expected the shape of a bias of the mask, one of []",
                upstream,
                g -> g.withBias(zeros(5, 6)));
    }

    @Test
    void overlapIsRefused() {
        fails(
                "query gradient: F32 [2, 4, 5, 8] overlaps query; expected separate memory",
                upstream,
                g -> AttentionGradients.of(pass.query(), g.key(), g.value()));
        fails(
                "value gradient: F32 [2, 2, 6, 3] strides [96, 48, 8, 1] overlaps key gradient; expected separate memory",
                upstream,
                g -> {
                    Tensor both = zeros(2, 2, 6, 8);
                    return AttentionGradients.of(null, both, both.slice(3, 0, 3));
                });
    }

    @Test
    void scoreOptionsThatDoNotFitAreRefused() {
        ScoreOptions none = ScoreOptions.NONE;
        refuses(
                "modifier: given; expected none, as backward does not know its derivative",
                none.withModifier((b, h, i, j, score) -> score),
                gradients);
        refuses("slopes: 3 values; expected one per query head of 4", none.withSlopes(1, 2, 3), gradients);
        refuses("sinks: 1 values; expected one per query head of 4", none.withSinks(1), gradients);
        refuses(
                "sinks gradient: given; expected options with sinks, as forward had none",
                none,
                gradients.withSinks(zeros(4)));
        refuses("sinks gradient: shape [3]; expected [4]", none.withSinks(1, 2, 3, 4), gradients.withSinks(zeros(3)));
    }

    private void refuses(String message, ScoreOptions scores, AttentionGradients to) {
        AttentionPass changed = new AttentionPass(
                pass.query(), pass.key(), pass.value(), outputs, AttentionOptions.DEFAULT.withScores(scores));
        IllegalArgumentException thrown =
                assertThrows(IllegalArgumentException.class, () -> Attention.backward(CPU, changed, upstream, to));
        assertEquals(message, thrown.getMessage());
    }

    /** A row sees only its sink. Its output is 0, and its log-sum-exp is the score of the sink. */
    @Test
    void aRowWithASinkAloneHasGradientZeroButForTheSink() {
        Tensor query = Numbers.fill(zeros(1, 1, 3, 4), () -> 1);
        AttentionOptions options =
                AttentionOptions.DEFAULT.withMask(Mask.keyLengths(0)).withScores(ScoreOptions.NONE.withSinks(0.5f));
        AttentionOutputs dead = AttentionOutputs.of(zeros(1, 1, 3, 4)).withLogSumExp(zeros(1, 1, 3));
        Attention.forward(CPU, query, query, query, dead, options);
        AttentionGradients to = AttentionGradients.of(filled(1, 1, 3, 4), filled(1, 1, 3, 4), filled(1, 1, 3, 4))
                .withSinks(filled(1));
        AttentionOutputs given = new AttentionOutputs(query, Tensor.of(new float[] {1, 2, 4}, 1, 1, 3), null);
        Attention.backward(CPU, new AttentionPass(query, query, query, dead, options), given, to);
        for (Tensor tensor : new Tensor[] {to.query(), to.key(), to.value()}) {
            for (float element : tensor.toArray()) {
                assertEquals(0, Float.floatToRawIntBits(element), "+0");
            }
        }
        assertEquals(7, to.sinks().get(0));
    }

    @Test
    void aSinkOfMinusInfinityIsNone() {
        Tensor x = Numbers.fill(zeros(1, 1, 3, 4), () -> 1);
        AttentionOptions options =
                AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSinks(Float.NEGATIVE_INFINITY));
        AttentionOutputs outputs = AttentionOutputs.of(zeros(1, 1, 3, 4)).withLogSumExp(zeros(1, 1, 3));
        Attention.forward(CPU, x, x, x, outputs, options);
        AttentionGradients to = AttentionGradients.of(null, null, null).withSinks(filled(1));
        Attention.backward(CPU, new AttentionPass(x, x, x, outputs, options), x, to);
        assertEquals(0, to.sinks().get(0));
    }

    @Test
    void whatForwardDidNotKeepIsAskedFor() {
        IllegalArgumentException missing = assertThrows(
                IllegalArgumentException.class,
                () -> new AttentionPass(
                        pass.query(), pass.key(), pass.value(), AttentionOutputs.of(upstream), pass.options()));
        assertEquals(
                "logSumExp: missing; expected the tensor that forward wrote; request it from forward",
                missing.getMessage());
        AttentionPass without = new AttentionPass(
                pass.query(),
                pass.key(),
                pass.value(),
                AttentionOutputs.of(outputs.output()).withLogSumExp(outputs.logSumExp()),
                pass.options());
        AttentionOutputs ofWeights = AttentionOutputs.of(upstream).withWeights(zeros(2, 4, 5, 6));
        IllegalArgumentException weights = assertThrows(
                IllegalArgumentException.class, () -> Attention.backward(CPU, without, ofWeights, gradients));
        assertEquals("weightsGradient: given; expected the weights too, as forward wrote them", weights.getMessage());
        AttentionOutputs ofScores = AttentionOutputs.of(upstream).withScores(zeros(2, 4, 5, 6), ScoreStage.MASKED);
        IllegalArgumentException scores =
                assertThrows(IllegalArgumentException.class, () -> Attention.backward(CPU, pass, ofScores, gradients));
        assertEquals("scoresGradient: given; expected none: backward takes no gradient of scores", scores.getMessage());
    }

    @Test
    void ratesBeyondOneAreRefused() {
        for (double rate : new double[] {-0.1, 1.1, Double.NaN}) {
            assertThrows(IllegalArgumentException.class, () -> new AttentionDropout(rate, 0));
        }
    }

    private void fails(String message, Tensor outputGradient, UnaryOperator<AttentionGradients> change) {
        AttentionGradients to = change.apply(gradients);
        float[] before = gradients.value().toArray();
        IllegalArgumentException thrown =
                assertThrows(IllegalArgumentException.class, () -> Attention.backward(CPU, pass, outputGradient, to));
        assertEquals(message, thrown.getMessage());
        assertArrayEquals(before, gradients.value().toArray());
    }

    private static float[] gradientOf(AttentionOptions options) {
        try (Arena arena = Arena.ofConfined()) {
            java.util.SplittableRandom random = new java.util.SplittableRandom(5);
            Tensor x = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, 1, 2, 70, 9), random, 0, 1);
            AttentionOutputs outputs = AttentionOutputs.of(zeros(1, 2, 70, 9)).withLogSumExp(zeros(1, 2, 70));
            Attention.forward(CPU, x, x, x, outputs, options);
            AttentionGradients to = AttentionGradients.of(zeros(1, 2, 70, 9), zeros(1, 2, 70, 9), zeros(1, 2, 70, 9));
            Attention.backward(CPU, new AttentionPass(x, x, x, outputs, options), x, to);
            return to.query().toArray();
        }
    }

    private static Tensor zeros(long... dims) {
        return Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
    }

    private static Tensor filled(long... dims) {
        float[] array = new float[(int) Shape.of(dims).elements()];
        Arrays.fill(array, -7f);
        return Tensor.of(array, dims);
    }
}

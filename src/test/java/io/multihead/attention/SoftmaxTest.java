package io.multihead.attention;

import static io.multihead.faults.Named.named;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceSoftmax;
import io.multihead.support.Golden;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The softmax is compared with PyTorch's vectors and with its specification. */
@Tag("lanes")
@net.jqwik.api.Tag("lanes")
class SoftmaxTest {
    private static final double[] SPECIAL = {
        Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, -Float.MAX_VALUE, -0.0
    };

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        return Golden.names("softmax/")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    Tensor x = golden.tensor("x");
                    boolean logarithm = golden.meta("kind").equals("log_softmax");
                    try (Arena arena = Arena.ofConfined()) {
                        Tensor output = Tensor.allocate(arena, DType.F32, x.shape());
                        Tensor lse = Tensor.allocate(
                                arena, DType.F32, golden.tensor("expected.lse").shape());
                        if (logarithm) {
                            Softmax.logForward(Compute.serial(), x, output, lse, AttentionOptions.DEFAULT);
                        } else {
                            Softmax.forward(Compute.serial(), x, output, lse, AttentionOptions.DEFAULT);
                        }
                        double[] expected = Numbers.of(golden.tensor("expected.out"));
                        // a row without visible scores is NaN in PyTorch, but 0 here by specification
                        expected = Arrays.stream(expected)
                                .map(p -> Double.isNaN(p) ? 0 : p)
                                .toArray();
                        AttentionGoldenTest.assertClose(expected, Numbers.of(output), 1e-6);
                        AttentionGoldenTest.assertClose(
                                Numbers.of(golden.tensor("expected.lse")), Numbers.of(lse), 1e-6);
                    }
                }));
    }

    /**
     * {@code x = scale (s - m)} is rounded twice, so {@code e^x} has a relative error of {@code 2 u |x|} and 1 ulp of the exponential. The
     * sum and quotient add 4 u.
     */
    @Property(tries = 400)
    void staysWithinTheBound(
            @ForAll @IntRange(max = 70) int rows,
            @ForAll @IntRange(max = 600) int keys,
            @ForAll Layout layout,
            @ForAll boolean large,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            Tensor scores = Numbers.gaussian(layout.allocate(arena, DType.F32, rows, keys), random, 0, large ? 1e4 : 3);
            Tensor output = layout.allocate(arena, DType.F32, rows, keys);
            Softmax.forward(Compute.serial(), scores, output, null, AttentionOptions.DEFAULT);
            double[] actual = Numbers.of(output);
            double[] all = Numbers.of(scores);
            for (int row = 0; row < rows; row++) {
                double[] x = Arrays.copyOfRange(all, row * keys, (row + 1) * keys);
                double[] expected = ReferenceSoftmax.row(x);
                double max = Arrays.stream(x).max().orElse(0);
                for (int j = 0; j < keys; j++) {
                    double relative = 0x1p-24 * (2 * (max - x[j]) + 8);
                    double error = Math.abs(actual[row * keys + j] - expected[j]);
                    assertTrue(error <= relative * expected[j] + 0x1p-126, "p " + expected[j]);
                }
            }
            assertTrue(Layout.untouchedOutside(output));
        }
    }

    /** Rows in native memory are computed in place, and other rows in a copy. Both have the same bits, even if values are not finite. */
    @Property(tries = 300)
    void nativeRowsHaveTheBitsOfCopiedRows(
            @ForAll @IntRange(max = 9) int rows,
            @ForAll @IntRange(max = 200) int keys,
            @ForAll boolean misaligned,
            @ForAll boolean inPlace,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            Tensor copied = Numbers.gaussian(Layout.HEAP.allocate(arena, DType.F32, rows, keys), random, 0, 30);
            if (rows > 2 && keys > 0) {
                // one row has one special value, and another row has only special values
                double special = SPECIAL[random.nextInt(SPECIAL.length)];
                copied.set(special, 0, random.nextInt(keys));
                for (int j = 0; j < keys; j++) {
                    copied.set(special, 2, j);
                }
            }
            Layout layout = misaligned ? Layout.MISALIGNED : Layout.DENSE;
            Tensor scores = layout.allocate(arena, DType.F32, rows, keys);
            copied.copyTo(scores);
            Tensor output = inPlace ? scores : layout.allocate(arena, DType.F32, rows, keys);
            Tensor logSumExp = layout.allocate(arena, DType.F32, rows);
            Tensor expected = Layout.HEAP.allocate(arena, DType.F32, rows, keys);
            Tensor expectedLogSumExp = Layout.HEAP.allocate(arena, DType.F32, rows);
            Softmax.forward(Compute.serial(), copied, expected, expectedLogSumExp, AttentionOptions.DEFAULT);
            Softmax.forward(Compute.serial(), scores, output, logSumExp, AttentionOptions.DEFAULT);
            assertArrayEquals(Numbers.of(expected), Numbers.of(output));
            assertArrayEquals(Numbers.of(expectedLogSumExp), Numbers.of(logSumExp));
            assertTrue(Layout.untouchedOutside(output));
        }
    }

    @Test
    void maskedScoresDoNotExist() {
        float[] x = {Float.NaN, 1f, 2f, Float.POSITIVE_INFINITY};
        Tensor keep = Tensor.view(
                java.lang.foreign.MemorySegment.ofArray(new byte[] {0, 1, 1, 0}),
                DType.I8,
                io.multihead.tensor.Shape.of(4));
        float[] out = new float[4];
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.keep(keep));
        Softmax.forward(Compute.serial(), Tensor.of(x), Tensor.of(out), null, options);
        assertEquals(0f, out[0]);
        assertEquals(1 / (1 + Math.E), out[1], 1e-7);
        assertEquals(0f, out[3]);
        Softmax.forward(
                Compute.serial(),
                Tensor.of(x),
                Tensor.of(out),
                null,
                AttentionOptions.DEFAULT.withMask(Mask.keyLengths(0)));
        assertArrayEquals(new float[4], out);
    }

    @Test
    void wrongShapesAreNamed() {
        Tensor x = Tensor.of(new float[6], 2, 3);
        Tensor wrong = Tensor.of(new float[6], 3, 2);
        var error = assertThrows(
                IllegalArgumentException.class,
                () -> Softmax.forward(Compute.serial(), x, wrong, null, AttentionOptions.DEFAULT));
        assertEquals("output: shape [3, 2]; expected [2, 3]", error.getMessage());
        Tensor out = Tensor.of(new float[6], 2, 3);
        error = assertThrows(
                IllegalArgumentException.class,
                () -> Softmax.forward(Compute.serial(), x, out, Tensor.of(new float[3]), AttentionOptions.DEFAULT));
        assertEquals("logSumExp: shape [3]; expected scores' [2, 3] without the last axis", error.getMessage());
    }

    @Test
    void logSumExpInTheMaskIsRefused() {
        Tensor bias = Tensor.of(new float[] {1f, 2f, 3f, 4f, 5f, 6f}, 2, 3);
        Tensor within = bias.reshape(6).slice(0, 0, 2);
        Tensor x = Tensor.of(new float[6], 2, 3);
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(Mask.bias(bias));
        var error = assertThrows(
                IllegalArgumentException.class, () -> Softmax.forward(Compute.serial(), x, x, within, options));
        assertEquals("logSumExp: F32 [2] overlaps mask; expected separate memory", error.getMessage());
        assertArrayEquals(new float[] {1f, 2f, 3f, 4f, 5f, 6f}, bias.toArray());
    }

    @Test
    void optionsThatItDoesNotHaveAreNamed() {
        Tensor keep = Tensor.of(new boolean[] {true});
        Map<String, AttentionOptions> refused = Map.of(
                "dropout", AttentionOptions.DEFAULT.withDropout(new AttentionDropout(1, 1)),
                "softCap", AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSoftCap(2)),
                "slopes", AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSlopes(1f)),
                "sinks", AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withSinks(1f)),
                "modifier", AttentionOptions.DEFAULT.withScores(ScoreOptions.NONE.withModifier((b, h, i, j, s) -> s)),
                "mask of blocks", AttentionOptions.DEFAULT.withMask(Mask.blocks(keep.reshape(1, 1), 64)));
        float[] before = {1f, 2f, 3f};
        Tensor x = Tensor.of(before.clone(), 1, 3);
        refused.forEach((name, options) -> {
            named(name, () -> Softmax.forward(Compute.serial(), x, x, null, options));
            named(name, () -> Softmax.logForward(Compute.serial(), x, x, null, options));
            named(name, () -> Softmax.backward(Compute.serial(), x, x, x, options));
        });
        assertArrayEquals(before, x.toArray());
    }

    @Test
    void aBiasGivenTwiceIsAddedTwice() {
        Mask once = Mask.bias(Tensor.of(new float[] {1f, 2f, 4f}, 3));
        Mask twice = Mask.bias(Tensor.of(new float[] {2f, 4f, 8f}, 3));
        Tensor scores = Tensor.of(new float[] {0.5f, 0.25f, 0.125f}, 1, 3);
        assertArrayEquals(
                softmax(scores, twice), softmax(scores, once.and(Mask.CAUSAL).and(once)));
    }

    private static float[] softmax(Tensor scores, Mask mask) {
        Tensor output = Tensor.of(new float[3], 1, 3);
        Softmax.forward(Compute.serial(), scores, output, null, AttentionOptions.DEFAULT.withMask(mask));
        return output.toArray();
    }
}

package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.reference.Differences;
import io.multihead.reference.ReferenceSoftmax;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/** The gradient of the softmax is compared with its specification, and the specification is compared with central differences. */
@Tag("lanes")
class SoftmaxGradientTest {
    private static final Compute CPU = Compute.serial();

    @Property(tries = 50)
    void theSpecificationEqualsCentralDifferences(@ForAll @IntRange(min = 1, max = 9) int keys, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double[] scores = random.doubles(keys, -3, 3).toArray();
        double[] upstream = random.doubles(keys, -1, 1).toArray();
        double[] gradient = ReferenceSoftmax.gradient(ReferenceSoftmax.row(scores), upstream);
        Differences.check(gradient, scores, upstream, ReferenceSoftmax::row);
    }

    /**
     * The sum has 32 chains of {@code keys / 32} fused multiply-adds and a tree of 5 additions, and is at most the sum of absolute
     * products. The difference, the product with p and the product with the scale round once each.
     */
    @Property(tries = 300)
    void staysWithinTheBound(
            @ForAll @IntRange(max = 70) int rows,
            @ForAll @IntRange(max = 600) int keys,
            @ForAll Layout layout,
            @ForAll boolean masked,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofShared();
                Compute threads = Compute.threads(3)) {
            AttentionOptions options = AttentionOptions.DEFAULT.withScale(0.37);
            options = masked ? options.withMask(Mask.keyLengths(keys / 2)) : options;
            Tensor scores = Numbers.gaussian(layout.allocate(arena, DType.F32, rows, keys), random, 0, 5);
            Tensor upstream = Numbers.gaussian(layout.allocate(arena, DType.F32, rows, keys), random, 1, 3);
            Tensor output = layout.allocate(arena, DType.F32, rows, keys);
            Softmax.forward(CPU, scores, output, null, options);
            double[] p = Numbers.of(output);
            double[] dp = Numbers.of(upstream);
            Tensor gradient = layout.allocate(arena, DType.F32, rows, keys);
            Softmax.backward(CPU, output, upstream, gradient, options);
            double[] actual = Numbers.of(gradient);
            for (int row = 0; row < rows; row++) {
                double[] softmax = Arrays.copyOfRange(p, row * keys, (row + 1) * keys);
                double[] given = Arrays.copyOfRange(dp, row * keys, (row + 1) * keys);
                double[] expected = ReferenceSoftmax.gradient(softmax, given);
                double sum = 0;
                for (int j = 0; j < keys; j++) {
                    sum += Math.abs(softmax[j] * given[j]);
                }
                for (int j = 0; j < keys; j++) {
                    double chain = (Math.ceilDiv(keys, 32) + 5) * sum;
                    double apart = softmax[j] == 0 ? 0 : Math.abs(expected[j] / softmax[j]);
                    double bound = (float) 0.37 * softmax[j] * 0x1p-24 * (chain + 3 * apart) * (1 + 0x1p-10);
                    double error = Math.abs(actual[row * keys + j] - (float) 0.37 * expected[j]);
                    assertTrue(error <= bound + 3 * 0x1p-149, expected[j] + " is off by " + error + ", " + bound);
                }
            }
            assertTrue(Layout.untouchedOutside(gradient));
            Softmax.backward(threads, output, upstream, output, options);
            assertArrayEquals(actual, Numbers.of(output), "on threads, in place");
        }
    }

    @Example
    void maskedElementsTakeNoPart() {
        float[] gradient = new float[4];
        Softmax.backward(
                CPU,
                Tensor.of(new float[] {0.25f, 0f, 0.75f, 0f}, 4),
                Tensor.of(new float[] {1f, Float.NaN, 2f, Float.POSITIVE_INFINITY}, 4),
                Tensor.of(gradient, 4),
                AttentionOptions.DEFAULT);
        assertArrayEquals(new float[] {-0.1875f, 0f, 0.1875f, 0f}, gradient);
    }

    @Example
    void illegalCallsAreRefused() {
        Tensor p = Tensor.of(new float[6], 2, 3);
        Tensor other = Tensor.of(new float[6], 3, 2);
        Tensor dp = Tensor.of(new float[6], 2, 3);
        Named.message(
                "outputGradient: shape [3, 2]; expected [2, 3]",
                () -> Softmax.backward(CPU, p, other, dp, AttentionOptions.DEFAULT));
        Named.message(
                "scoresGradient: shape [3, 2]; expected [2, 3]",
                () -> Softmax.backward(CPU, p, dp, other, AttentionOptions.DEFAULT));
        Tensor row = Tensor.of(new float[4], 4);
        Named.message(
                "scoresGradient: F32 [3] overlaps output; expected separate memory",
                () -> Softmax.backward(
                        CPU,
                        row.slice(0, 0, 3),
                        Tensor.of(new float[3], 3),
                        row.slice(0, 1, 4),
                        AttentionOptions.DEFAULT));
    }
}

package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.reference.ReferenceCrossEntropy;
import io.multihead.reference.ReferenceSoftmax;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** The cross-entropy is compared with its specification. Memory and threads of a call do not change a bit. */
class CrossEntropyTest {
    private static final double U = 0x1p-24 * 1.02;
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final DType[] TYPES = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};
    private static final int IGNORED = 1;
    private static final CrossEntropy LOSS = CrossEntropy.ignoring(IGNORED);

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(
            @ForAll @IntRange(max = 30) int tokens,
            @ForAll @IntRange(min = 2, max = 300) int classes,
            @ForAll Layout layout,
            @ForAll Layout results,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofShared()) {
            Trained.Storage in = new Trained.Storage(arena, layout, TYPES[random.nextInt(TYPES.length)]);
            Trained.Storage out = new Trained.Storage(arena, results, TYPES[random.nextInt(TYPES.length)]);
            double sigma = new double[] {1, 30, 1e4}[random.nextInt(3)];
            Tensor logits = in.normal(random, 0, sigma, 2, tokens, classes);
            int[] targets = random.ints(2L * tokens, 0, classes).toArray();
            Tensor gradient = out.allocate(logits.shape());
            double loss = LOSS.lossAndGradient(SERIAL, logits, targets, gradient);
            check(Numbers.of(logits), targets, loss, gradient);
            assertTrue(Layout.untouchedOutside(gradient), "bytes around the gradient");

            assertEquals(loss, LOSS.forward(THREADS, logits, targets), "threads");
            Tensor again = out.allocate(logits.shape());
            LOSS.lossAndGradient(THREADS, Numbers.copy(logits, arena, Layout.DENSE, logits.dtype()), targets, again);
            assertArrayEquals(Numbers.of(gradient), Numbers.of(again), "threads and layout");
            Tensor place = Numbers.copy(logits, arena, results, logits.dtype());
            assertEquals(loss, LOSS.lossAndGradient(SERIAL, place, targets, place), "in place");
            if (place.dtype() == gradient.dtype()) {
                assertArrayEquals(Numbers.of(gradient), Numbers.of(place), "in place");
            }
        }
    }

    /**
     * The rounding of {@code x - m} becomes a relative error of {@code u |x - m|} in the exponential, which has an
     * error of 1 ulp, at most 2 u. The sum of n exponentials has 32 chains and a tree of 5 levels. Probabilities,
     * subtraction and quotient round once each. Exponentials below {@code 2^-126} become 0.
     */
    private static void check(double[] logits, int[] targets, double loss, Tensor gradient) {
        int classes = targets.length == 0 ? 0 : logits.length / targets.length;
        long counted = Arrays.stream(targets).filter(t -> t != IGNORED).count();
        double[] bound = new double[logits.length];
        double lossBound = 0;
        for (int row = 0; row < targets.length; row++) {
            if (targets[row] == IGNORED) {
                continue;
            }
            double[] x = Arrays.copyOfRange(logits, row * classes, (row + 1) * classes);
            double max = Arrays.stream(x).max().getAsDouble();
            double[] p = ReferenceSoftmax.row(x);
            double sum = U * (Math.ceilDiv(classes, 32) + 5 + 2);
            for (int j = 0; j < classes; j++) {
                sum += U * p[j] * (max - x[j]);
            }
            for (int j = 0; j < classes; j++) {
                double error = p[j] * (U * (max - x[j] + 3) + sum) + 0x1p-125;
                boolean right = j == targets[row];
                bound[row * classes + j] = (error + 2 * U * Math.abs(right ? 1 - p[j] : p[j])) / counted;
            }
            lossBound += (sum + 0x1p-50 * (1 + max - x[targets[row]])) / counted;
        }
        double exact = ReferenceCrossEntropy.forward(logits, targets, IGNORED);
        assertTrue(Math.abs(loss - exact) <= lossBound, "loss " + loss + ", exactly " + exact);
        Trained.assertWithin(ReferenceCrossEntropy.backward(logits, targets, IGNORED), bound, gradient, "gradient");
    }

    @Test
    void logitsOfAnySize() {
        float most = Float.MAX_VALUE;
        Tensor logits = Tensor.of(new float[] {most, -most, most, -most, Float.NEGATIVE_INFINITY, 0f}, 2, 3);
        Tensor gradient = Tensor.of(new float[6], 2, 3);
        double loss = CrossEntropy.of().lossAndGradient(SERIAL, logits, new int[] {0, 2}, gradient);
        assertEquals(Math.log(2) / 2, loss, 1e-7);
        assertArrayEquals(new float[] {-0.25f, 0f, 0.25f, 0f, 0f, 0f}, gradient.toArray());
        loss = CrossEntropy.of().forward(SERIAL, logits, new int[] {1, -100});
        assertEquals(2.0 * most, loss, 1e30);
        loss = CrossEntropy.of().forward(SERIAL, logits, new int[] {-100, 1});
        assertEquals(Double.POSITIVE_INFINITY, loss);
    }

    @Test
    void nothingButIgnoredRowsIsNoLoss() {
        Tensor logits = Tensor.of(new float[] {1f, Float.NaN}, 1, 2);
        Tensor gradient = Tensor.of(new float[] {9f, 9f}, 1, 2);
        assertEquals(0, CrossEntropy.of().lossAndGradient(SERIAL, logits, new int[] {-100}, gradient));
        assertArrayEquals(new float[2], gradient.toArray());
    }

    @Test
    void aBadRowIsSeen() {
        Tensor logits = Tensor.of(new float[] {1f, 2f, Float.NaN, 0f}, 2, 2);
        Tensor gradient = Tensor.of(new float[4], 2, 2);
        assertTrue(Double.isNaN(CrossEntropy.of().lossAndGradient(SERIAL, logits, new int[] {0, 0}, gradient)));
        assertTrue(Float.isFinite(gradient.toArray()[0]));
        assertTrue(Float.isNaN(gradient.toArray()[3]));
    }

    @Test
    void badInputIsNamedAndWritesNothing() {
        Tensor logits = Tensor.of(new float[6], 2, 3);
        float[] memory = new float[6];
        Arrays.fill(memory, Float.NaN);
        Tensor to = Tensor.of(memory, 2, 3);
        Named.message("targets: 1 targets; expected 2, one per row of [2, 3]", () -> CrossEntropy.of()
                .forward(SERIAL, logits, new int[1]));
        Named.message("targets[1]: 3; expected 0 to 2, or -100 to ignore the row", () -> CrossEntropy.of()
                .lossAndGradient(SERIAL, logits, new int[] {0, 3}, to));
        Named.message("gradient: shape [3, 2]; expected [2, 3]", () -> CrossEntropy.of()
                .lossAndGradient(SERIAL, logits, new int[2], Tensor.of(memory, 3, 2)));
        Named.message("gradient: F32 [2, 3] overlaps logits; expected separate memory", () -> CrossEntropy.of()
                .lossAndGradient(SERIAL, Tensor.of(memory, 2, 3), new int[2], to));
        Named.message("logits: shape [2, 0]; expected [..., classes] with one class or more", () -> CrossEntropy.of()
                .forward(SERIAL, Tensor.of(new float[0], 2, 0), new int[2]));
        for (float element : memory) {
            assertTrue(Float.isNaN(element), "written");
        }
    }
}

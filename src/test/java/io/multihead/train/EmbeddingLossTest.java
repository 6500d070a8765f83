package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/**
 * Losses of embeddings: values are compared with values that were computed by hand, and gradients with differences.
 * Other tests check sizes and refusals.
 */
class EmbeddingLossTest {
    private static final EmbeddingLoss WHOLE = EmbeddingLoss.of();
    private static final double STEP = 1e-2;

    /** A loss of two matrices that writes the gradients of both. */
    private interface Loss {
        double of(Tensor a, Tensor b, Tensor ofA, Tensor ofB);
    }

    @Test
    void valuesAreThoseByHand() {
        Tensor anchors = Tensor.of(new float[] {2, 0, 0, 3}, 2, 2);
        Tensor candidates = Tensor.of(new float[] {5, 0, 0, 0.5f, -1, 0}, 3, 2);
        // the cosines are 1, 0 and -1 for the first anchor, and 0, 1 and 0 for the second anchor
        double first = Math.log(Math.exp(4) + 1 + Math.exp(-4)) - 4;
        double second = Math.log(1 + Math.exp(4) + 1) - 4;
        assertEquals((first + second) / 2, multiple(4, WHOLE).of(anchors, candidates, zeros(2, 2), zeros(3, 2)), 1e-15);
        // the other direction: from the first two candidates to two anchors, with a row for each candidate
        double back = Math.log(Math.exp(4) + 1) - 4;
        assertEquals(
                ((first + second) / 2 + back) / 2,
                WHOLE.symmetricNegatives(4, anchors, candidates, zeros(2, 2), zeros(3, 2)),
                1e-15);
        Tensor turned = Tensor.of(new float[] {0, 1, 0, -1}, 2, 2);
        assertEquals(
                (0.25 + 0.25) / 2,
                WHOLE.cosines(anchors, turned, new float[] {0.5f, -0.5f}, zeros(2, 2), zeros(2, 2)),
                1e-15);
        Tensor others = Tensor.of(new float[] {1, 0, 1, 0, 0, 1, 0, 1}, 4, 2);
        // the first positive is nearer by 1; the second negative is nearer by 1, so the loss is the margin plus 1
        assertEquals(1.3 / 2, WHOLE.triplets(0.3, anchors, others, zeros(2, 2), zeros(4, 2)), 1e-15);
    }

    /**
     * Second-order differences with steps of 0.01 in vectors of length about 3 have a relative error of less than 1e-3.
     */
    @Property(tries = 60)
    void gradientsAreDifferences(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 4) int n, @ForAll @IntRange(min = 2, max = 6) int dim) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] labels = new float[n];
        for (int i = 0; i < n; i++) {
            labels[i] = (float) random.nextDouble(-1, 1);
        }
        for (EmbeddingLoss losses : new EmbeddingLoss[] {WHOLE, WHOLE.withDims(1, dim, 2)}) {
            check(multiple(3, losses), random, n, n + 2, dim);
            check((a, b, ofA, ofB) -> losses.symmetricNegatives(3, a, b, ofA, ofB), random, n, n + 2, dim);
            check((a, b, ofA, ofB) -> losses.cosines(a, b, labels, ofA, ofB), random, n, n, dim);
            // all triplets are within the margin, so that the loss has no kink
            check((a, b, ofA, ofB) -> losses.triplets(2.5, a, b, ofA, ofB), random, n, 2 * n, dim);
        }
    }

    private static void check(Loss loss, SplittableRandom random, int rows, int others, int dim) {
        float[] a = draw(random, rows * dim);
        float[] b = draw(random, others * dim);
        Tensor left = Tensor.of(a, rows, dim);
        Tensor right = Tensor.of(b, others, dim);
        Tensor ofLeft = zeros(rows, dim);
        Tensor ofRight = zeros(others, dim);
        loss.of(left, right, ofLeft, ofRight);
        for (int i = 0; i < a.length; i++) {
            assertEquals(slope(loss, left, right, a, i), ofLeft.toArray()[i], 1e-3, "a " + i);
        }
        for (int i = 0; i < b.length; i++) {
            assertEquals(slope(loss, left, right, b, i), ofRight.toArray()[i], 1e-3, "b " + i);
        }
    }

    private static double slope(Loss loss, Tensor left, Tensor right, float[] varied, int i) {
        Tensor ofLeft = zeros(left.shape().toArray());
        Tensor ofRight = zeros(right.shape().toArray());
        float kept = varied[i];
        varied[i] = (float) (kept + STEP);
        float up = varied[i];
        double above = loss.of(left, right, ofLeft, ofRight);
        varied[i] = (float) (kept - STEP);
        double below = loss.of(left, right, ofLeft, ofRight);
        double slope = (above - below) / ((double) up - varied[i]);
        varied[i] = kept;
        return slope;
    }

    @Test
    void sizesAreTheMeanOfEach() {
        SplittableRandom random = new SplittableRandom(4);
        Tensor a = Tensor.of(draw(random, 12), 3, 4);
        Tensor b = Tensor.of(draw(random, 12), 3, 4);
        Tensor gradient = zeros(3, 4);
        double both = multiple(20, WHOLE.withDims(2, 4)).of(a, b, gradient, zeros(3, 4));
        Tensor cut = zeros(3, 2);
        double first = multiple(20, WHOLE).of(a.slice(1, 0, 2), b.slice(1, 0, 2), cut, zeros(3, 2));
        Tensor whole = zeros(3, 4);
        double all = multiple(20, WHOLE).of(a, b, whole, zeros(3, 4));
        assertEquals((first + all) / 2, both, 1e-15);
        // rounding errors of the two gradients, of their halves, and of the sum
        assertEquals((cut.get(1, 1) + whole.get(1, 1)) / 2, gradient.get(1, 1), 0x1p-22);
        assertEquals(whole.get(1, 3) / 2, gradient.get(1, 3), 0x1p-22);
    }

    @Test
    void aVectorOfZerosHasCosinesOfZero() {
        Tensor gradient = zeros(1, 2);
        double loss = WHOLE.cosines(
                zeros(1, 2), Tensor.of(new float[] {1, 1}, 1, 2), new float[] {0.5f}, gradient, zeros(1, 2));
        assertEquals(0.25, loss);
        assertTrue(Double.isFinite(gradient.get(0, 0)));
    }

    @Test
    void whatDoesNotFitIsNamedAndNothingIsWritten() {
        Tensor two = Tensor.of(new float[] {1, 2, 3, 4}, 2, 2);
        Tensor one = Tensor.of(new float[] {1, 2}, 1, 2);
        Tensor out = zeros(2, 2);
        refuses("scale: 0.0; expected a finite number above 0", () -> multiple(0, WHOLE)
                .of(two, two, out, zeros(2, 2)));
        refuses("candidates: 1 vectors; expected at least 2, as in anchors", () -> multiple(1, WHOLE)
                .of(two, one, out, zeros(1, 2)));
        String single = "candidates: 1 vector; expected at least 2: the others are the negatives of an anchor";
        refuses(single, () -> multiple(1, WHOLE.withDims(1)).of(one, one, zeros(1, 2), zeros(1, 2)));
        refuses(single, () -> WHOLE.symmetricNegatives(1, one, one, zeros(1, 2), zeros(1, 2)));
        assertTrue(multiple(1, WHOLE).of(one, two, zeros(1, 2), zeros(2, 2)) > 0, "a hard negative");
        refuses("candidates: ", () -> multiple(1, WHOLE).of(two, zeros(2, 3), out, zeros(2, 3)));
        refuses("anchors: shape [2]; expected [vectors, dim]", () -> multiple(1, WHOLE)
                .of(Tensor.of(new float[2]), two, out, out));
        refuses("candidateGradient: ", () -> multiple(1, WHOLE).of(two, two, out, out));
        refuses("labels: 2.0; expected -1 to 1", () -> WHOLE.cosines(two, two, new float[] {0, 2}, out, zeros(2, 2)));
        refuses("labels: 1", () -> WHOLE.cosines(two, two, new float[1], out, zeros(2, 2)));
        refuses("others: 2", () -> WHOLE.triplets(0.1, two, two, out, zeros(2, 2)));
        refuses("margin: NaN", () -> WHOLE.triplets(Double.NaN, two, zeros(4, 2), out, zeros(4, 2)));
        refuses("sizes: [0]; expected one or more, each at least 1", () -> WHOLE.withDims(0));
        refuses("sizes: 3; expected at most 2, as vectors have", () -> multiple(1, WHOLE.withDims(3))
                .of(two, two, out, zeros(2, 2)));
        assertArrayEquals(new float[4], out.toArray());
        try (Arena arena = Arena.ofConfined()) {
            Tensor narrow = Tensor.allocate(arena, DType.BF16, Shape.of(2, 2));
            assertTrue(multiple(1, WHOLE).of(two, two, narrow, zeros(2, 2)) > 0, "any floating type is written");
        }
    }

    private static Loss multiple(double scale, EmbeddingLoss losses) {
        return (a, b, ofA, ofB) -> losses.multipleNegatives(scale, a, b, ofA, ofB);
    }

    private static void refuses(String beginning, org.junit.jupiter.api.function.Executable call) {
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, call);
        assertTrue(thrown.getMessage().startsWith(beginning), thrown.getMessage());
    }

    private static float[] draw(SplittableRandom random, int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            // not near 0, where small steps change the direction of a vector by much
            values[i] = (float) ((random.nextBoolean() ? 1 : -1) * random.nextDouble(1, 2));
        }
        return values;
    }

    private static Tensor zeros(long... dims) {
        return Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
    }
}

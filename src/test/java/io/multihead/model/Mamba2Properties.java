package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.RecurrentCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.reference.ReferenceMamba2;
import io.multihead.support.Bounded;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.Tensor;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * Mamba-2 is compared with its specification, and has the same bits in any division into calls, batches and threads.
 */
@Tag("lanes")
class Mamba2Properties {
    private static final Compute SERIAL = Compute.serial();
    private static final int DIM = 48;

    private static Mamba2Heads heads(SplittableRandom random) {
        int groups = random.nextInt(1, 4);
        return new Mamba2Heads(groups * random.nextInt(1, 4), random.nextInt(1, 70), groups, random.nextInt(4, 40));
    }

    private static Mamba2Case any(SplittableRandom random, int taps, long seed) {
        Mamba2Heads heads = heads(random);
        return new Mamba2Case(heads, DIM, taps, random.nextBoolean() ? heads.groups() : 1, seed);
    }

    @Property(tries = 60)
    void resultsAreThoseOfTheSpecification(
            @ForAll @IntRange(min = 1, max = 150) int tokens,
            @ForAll @IntRange(min = 2, max = 4) int taps,
            @ForAll long seed) {
        Mamba2Case c = any(new SplittableRandom(seed), taps, seed);
        Tensor x = c.gaussian(0.1, 1, tokens, DIM);
        double[] expected = c.reference.of(Mamba2Case.wide(x));
        float[] actual = RecurrentCalls.whole(SERIAL, c.part, x);
        Bounded bound = Mamba2Bound.of(c, Mamba2Case.wide(x));
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], bound.values()[i], 1e-9 * (1 + Math.abs(expected[i])), "formulas of the bound");
            assertEquals(expected[i], actual[i], bound.errors()[i], "element " + i + " of " + c.heads);
        }
    }

    /** The comparison detects an error in each number of a head, and in the parts of the norm. */
    @Example
    void theComparisonSeesTheNumbersOfHeads() {
        Mamba2Case c = new Mamba2Case(new Mamba2Heads(4, 16, 2, 16), DIM, 4, 2, 1);
        double[] x = Mamba2Case.wide(c.gaussian(0, 1, 30, DIM));
        ReferenceMamba2.Heads heads = c.reference.heads();
        double[] none = new double[4];
        requireFar(c, x, c.reference.biases(), new ReferenceMamba2.Heads(1, heads.slopes(), heads.biases(), none));
        requireFar(c, x, c.reference.biases(), new ReferenceMamba2.Heads(2, none, heads.biases(), heads.skips()));
        requireFar(c, x, c.reference.biases(), new ReferenceMamba2.Heads(2, heads.slopes(), none, heads.skips()));
        requireFar(c, x, c.reference.biases(), new ReferenceMamba2.Heads(2, heads.slopes(), heads.biases(), none));
        requireFar(c, x, new double[c.reference.biases().length], heads);
        Mamba2 other = c.part.withNormParts(1);
        Tensor rows = c.gaussian(0, 1, 30, DIM);
        float[] parts = RecurrentCalls.whole(SERIAL, c.part, rows);
        float[] all = RecurrentCalls.whole(SERIAL, other, rows);
        assertTrue(Math.abs(parts[0] - all[0]) > 1e-3, parts[0] + " and " + all[0]);
        assertArrayEquals(parts, RecurrentCalls.whole(SERIAL, other.withNormParts(2), rows));
    }

    private static void requireFar(Mamba2Case c, double[] x, double[] biases, ReferenceMamba2.Heads heads) {
        ReferenceMamba2 of = c.reference;
        double[] right = of.of(x);
        double[] wrong = new ReferenceMamba2(of.projection(), of.taps(), biases, heads, of.norms(), of.output()).of(x);
        double farthest = 0;
        for (int i = 0; i < right.length; i++) {
            farthest = Math.max(farthest, Math.abs(right[i] - wrong[i]));
        }
        double bound = Mamba2Bound.of(c, x).error();
        assertTrue(farthest > 20 * bound, farthest + " against " + bound);
    }

    @Property(tries = 40)
    void anyDivisionHasTheSameBits(@ForAll @IntRange(min = 1, max = 150) int tokens, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Mamba2Case c = any(random, 4, seed);
        Tensor x = c.gaussian(0.1, 1, tokens, DIM);
        float[] whole = RecurrentCalls.whole(SERIAL, c.part, x);
        try (Compute threads = Compute.threads(3)) {
            assertArrayEquals(whole, RecurrentCalls.whole(threads, c.part, x));
            assertArrayEquals(whole, RecurrentCalls.divided(threads, c.part, x, random));
        }
        assertArrayEquals(whole, RecurrentCalls.divided(SERIAL, c.part, x, random));
    }

    @Example
    void warmCallsAllocateNothing() {
        Mamba2Case c = new Mamba2Case(new Mamba2Heads(4, 32, 2, 32), DIM, 4, 2, 1);
        RecurrentCache cache = RecurrentCalls.cache(c.part);
        TokenBatch batch = TokenBatch.of(cache, 4);
        batch.begin(cache.open());
        batch.add(0);
        Buffers buffers = c.part.buffers(4);
        Tensor x = c.gaussian(0, 1, 1, DIM);
        Tensor y = c.gaussian(0, 1, 1, DIM);
        assertEquals(0, WarmCalls.allocatedBytes(() -> c.part.forward(SERIAL, batch, x, y, buffers)));
    }

    @Example
    void sizesThatDoNotFitAreNamed() {
        Mamba2Heads heads = new Mamba2Heads(2, 4, 1, 4);
        Mamba2Case c = new Mamba2Case(heads, 16, 4, 1, 1);
        LinearGroup projections = c.part.projections();
        PackedLinear output = c.part.output();
        Norm norm = Norm.rms(c.gaussian(1, 0, 8), 0);
        LinearDecay decay = LinearDecay.of(c.gaussian(-1, 0, 2), c.gaussian(0, 1, 2));
        Tensor taps = c.gaussian(0, 1, 16, 4);
        assertFails("heads: 3; expected a multiple of 2", () -> new Mamba2Heads(3, 4, 2, 4));
        assertFails(
                "projections[1]: 16 outputs; expected 18",
                () -> Mamba2.of(new Mamba2Heads(2, 4, 1, 5), projections, taps, decay, norm, output));
        assertFails(
                "projections: 1 of them; expected 3",
                () -> Mamba2.of(heads, LinearGroup.of(output), taps, decay, norm, output));
        assertFails(
                "taps: shape [15, 4]; expected [16, taps]",
                () -> Mamba2.of(heads, projections, c.gaussian(0, 1, 15, 4), decay, norm, output));
        PackedLinear wrong = PackedLinear.of(PackedWeights.ofOutputRows(c.gaussian(0, 1, 15, 8)));
        assertFails(
                "output: 8 inputs, 15 outputs; expected 8 and 16",
                () -> Mamba2.of(heads, projections, taps, decay, norm, wrong));
        assertFails("bias: shape [15]; expected [16]", () -> c.part.withConvolutionBias(c.gaussian(0, 1, 15)));
        assertFails("factors: shape [3]; expected [2]", () -> c.part.withSkip(c.gaussian(0, 1, 3)));
        assertFails("parts: 3; expected a divisor of 8", () -> c.part.withNormParts(3));
    }

    private static void assertFails(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}

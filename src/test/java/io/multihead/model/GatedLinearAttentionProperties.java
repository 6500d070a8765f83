package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.RecurrentCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.reference.ReferenceLinearAttention;
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
 * Linear attention is compared with its specification, and has the same bits in any division into calls, batches and
 * threads.
 */
@Tag("lanes")
class GatedLinearAttentionProperties {
    private static final Compute SERIAL = Compute.serial();

    private static LinearHeads heads(SplittableRandom random) {
        int keys = random.nextInt(1, 4);
        return new LinearHeads(
                keys, keys * random.nextInt(1, 4), random.nextInt(4, 40), random.nextInt(1, 70), random.nextBoolean());
    }

    @Property(tries = 60)
    void resultsAreThoseOfTheSpecification(
            @ForAll @IntRange(min = 1, max = 150) int tokens,
            @ForAll @IntRange(min = 2, max = 4) int taps,
            @ForAll long seed) {
        LinearHeads heads = heads(new SplittableRandom(seed));
        LinearAttentionCase c = new LinearAttentionCase(heads, 48, taps, seed);
        Tensor x = c.gaussian(0.1, 1, tokens, 48);
        double[] expected = c.reference.of(LinearAttentionCase.wide(x));
        float[] actual = RecurrentCalls.whole(SERIAL, c.part, x);
        Bounded bound = LinearAttentionBound.of(c, LinearAttentionCase.wide(x));
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], bound.values()[i], 1e-9 * (1 + Math.abs(expected[i])), "formulas of the bound");
            assertEquals(expected[i], actual[i], bound.errors()[i], "element " + i + " of " + heads);
        }
    }

    /** The comparison detects a wrong order of the key heads that value heads read. */
    @Example
    void theComparisonSeesTheOrderOfHeads() {
        LinearAttentionCase c = new LinearAttentionCase(new LinearHeads(2, 4, 16, 16, true), 48, 4, 1);
        double[] x = LinearAttentionCase.wide(c.gaussian(0, 1, 30, 48));
        ReferenceLinearAttention of = c.reference;
        double[] right = of.of(x);
        double[] wrong = new ReferenceLinearAttention(
                        of.projections(),
                        of.taps(),
                        of.decay(),
                        of.norm(),
                        of.output(),
                        new ReferenceLinearAttention.Heads(2, 4, false))
                .of(x);
        double farthest = 0;
        for (int i = 0; i < right.length; i++) {
            farthest = Math.max(farthest, Math.abs(right[i] - wrong[i]));
        }
        double bound = LinearAttentionBound.of(c, x).error();
        assertTrue(farthest > 20 * bound, farthest + " against " + bound);
    }

    @Property(tries = 40)
    void anyDivisionHasTheSameBits(@ForAll @IntRange(min = 1, max = 150) int tokens, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        LinearAttentionCase c = new LinearAttentionCase(heads(random), 32, 4, seed);
        Tensor x = c.gaussian(0.1, 1, tokens, 32);
        float[] whole = RecurrentCalls.whole(SERIAL, c.part, x);
        try (Compute threads = Compute.threads(3)) {
            assertArrayEquals(whole, RecurrentCalls.whole(threads, c.part, x));
            assertArrayEquals(whole, RecurrentCalls.divided(threads, c.part, x, random));
        }
        assertArrayEquals(whole, RecurrentCalls.divided(SERIAL, c.part, x, random));
    }

    @Example
    void warmCallsAllocateNothing() {
        LinearAttentionCase c = new LinearAttentionCase(new LinearHeads(2, 4, 32, 32, false), 64, 4, 1);
        RecurrentCache cache = RecurrentCalls.cache(c.part);
        TokenBatch batch = TokenBatch.of(cache, 4);
        batch.begin(cache.open());
        batch.add(0);
        Buffers buffers = c.part.buffers(4);
        Tensor x = c.gaussian(0, 1, 1, 64);
        Tensor y = c.gaussian(0, 1, 1, 64);
        assertEquals(0, WarmCalls.allocatedBytes(() -> c.part.forward(SERIAL, batch, x, y, buffers)));
    }

    @Example
    void sizesThatDoNotFitAreNamed() {
        LinearHeads heads = new LinearHeads(1, 2, 4, 4, false);
        LinearAttentionCase c = new LinearAttentionCase(heads, 16, 4, 1);
        LinearGroup projections = c.part.projections();
        PackedLinear output = c.part.output();
        Norm norm = Norm.rms(c.gaussian(1, 0, 4), 0);
        LinearDecay decay = LinearDecay.of(c.gaussian(-1, 0, 2), c.gaussian(0, 1, 2));
        Tensor taps = c.gaussian(0, 1, 16, 4);
        assertFails("valueHeads: 3; expected a multiple of 2", () -> new LinearHeads(2, 3, 4, 4, false));
        assertFails(
                "projections[0]: 16 outputs; expected 20",
                () -> GatedLinearAttention.of(
                        new LinearHeads(1, 3, 4, 4, false), projections, taps, decay, norm, output));
        assertFails(
                "projections: 1 of them; expected 4",
                () -> GatedLinearAttention.of(heads, LinearGroup.of(output), taps, decay, norm, output));
        assertFails(
                "taps: shape [15, 4]; expected [16, taps]",
                () -> GatedLinearAttention.of(heads, projections, c.gaussian(0, 1, 15, 4), decay, norm, output));
        PackedLinear wrong = PackedLinear.of(PackedWeights.ofOutputRows(c.gaussian(0, 1, 15, 8)));
        assertFails(
                "output: 8 inputs, 15 outputs; expected 8 and 16",
                () -> GatedLinearAttention.of(heads, projections, taps, decay, norm, wrong));
        assertFails(
                "slopes: [1.0]; expected finite numbers of at most 0",
                () -> LinearDecay.of(c.gaussian(1, 0, 1), c.gaussian(0, 1, 1)));
        assertFails(
                "biases: shape [2]; expected [1], as in slopes",
                () -> LinearDecay.of(c.gaussian(-1, 0, 1), c.gaussian(0, 1, 2)));
    }

    private static void assertFails(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}

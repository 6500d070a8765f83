package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.SequenceCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.reference.ReferenceConvolution;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Short convolutions are compared with their specification, in any division into calls. */
@Tag("lanes")
@Tag("bits")
class ShortConvolutionTest {
    private static final double U = 0x1p-24;
    /** More channels than a task has, and a number that is not a multiple of a panel. */
    private static final int DIM = 300;

    private static final int TOKENS = 23;

    private final SplittableRandom random = new SplittableRandom(7);

    private Tensor gaussian(double deviation, long... dims) {
        int count = (int) Arrays.stream(dims).reduce(1, (a, b) -> a * b);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian(0, deviation);
        }
        return Tensor.of(values, dims);
    }

    private static PackedLinear linear(Tensor weight) {
        return PackedLinear.of(PackedWeights.ofOutputRows(weight));
    }

    private static double[] wide(Tensor tensor) {
        float[] values = tensor.toArray();
        double[] wide = new double[values.length];
        Arrays.setAll(wide, i -> values[i]);
        return wide;
    }

    private static ReferenceTransformer.Linear reference(Tensor weight) {
        return new ReferenceTransformer.Linear(wide(weight), null, (int) weight.dim(0), (int) weight.dim(1));
    }

    @Test
    void rowsAreThoseOfTheSpecificationInAnyDivision() {
        Tensor in = gaussian(0.05, 3 * DIM, DIM);
        Tensor out = gaussian(0.05, DIM, DIM);
        Tensor x = gaussian(1, TOKENS, DIM);
        for (int taps = 2; taps <= 4; taps++) {
            Tensor factors = gaussian(0.5, DIM, taps);
            ShortConvolution part = ShortConvolution.of(linear(in), factors, linear(out));
            double[] expected = new ReferenceTransformer.ShortConvolution(
                            reference(in), new ReferenceConvolution(wide(factors), DIM), reference(out))
                    .of(wide(x));
            for (int threads : new int[] {1, 3}) {
                try (Compute cpu = Compute.threads(threads)) {
                    float[] whole = forward(cpu, part, x);
                    for (int i = 0; i < expected.length; i++) {
                        // two sums of DIM terms of about 1, products of three such sums, and the taps
                        assertEquals(expected[i], whole[i], (2 * DIM + 2 * taps + 4) * U * 20, "element " + i);
                    }
                    assertArrayEquals(whole, divided(cpu, part, x));
                }
            }
        }
    }

    private static float[] forward(Compute cpu, Part part, Tensor x) {
        TokenBatch batch = TokenBatch.of(TOKENS);
        batch.begin();
        for (int i = 0; i < TOKENS; i++) {
            batch.add(0);
        }
        Tensor y = Tensor.of(new float[TOKENS * DIM], TOKENS, DIM);
        part.forward(cpu, batch, x, y, part.buffers(TOKENS));
        return y.toArray();
    }

    /** Computes the sequence in chunks that alternate with chunks of another sequence. */
    private static float[] divided(Compute cpu, ShortConvolution part, Tensor x) {
        SequenceCache cache = LayerCaches.paged(part.states(), CacheFormat.F32, 64, Arena.ofAuto());
        int first = cache.open();
        int second = cache.open();
        TokenBatch batch = TokenBatch.of(cache, 2 * TOKENS);
        Buffers buffers = part.buffers(2 * TOKENS);
        float[] all = new float[TOKENS * DIM];
        int done = 0;
        for (int count : new int[] {1, 2, 1, 7, 5, 7}) {
            batch.clear();
            batch.begin(second);
            batch.add(0);
            batch.add(0);
            batch.begin(first);
            float[] rows = new float[(2 + count) * DIM];
            Arrays.fill(rows, 0, 2 * DIM, 3f);
            for (int i = 0; i < count; i++) {
                batch.add(0);
            }
            System.arraycopy(x.toArray(), done * DIM, rows, 2 * DIM, count * DIM);
            Tensor y = Tensor.of(new float[rows.length], 2 + count, DIM);
            part.forward(cpu, batch, Tensor.of(rows, 2 + count, DIM), y, buffers);
            System.arraycopy(y.toArray(), 2 * DIM, all, done * DIM, count * DIM);
            done += count;
        }
        assertEquals(TOKENS, cache.length(first));
        return all;
    }

    @Test
    void warmCallsAllocateNothing() {
        ShortConvolution part =
                ShortConvolution.of(linear(gaussian(1, 96, 32)), gaussian(1, 32, 3), linear(gaussian(1, 32, 32)));
        SequenceCache cache = LayerCaches.paged(part.states(), CacheFormat.F32, 64, Arena.ofAuto());
        TokenBatch batch = TokenBatch.of(cache, 4);
        batch.begin(cache.open());
        batch.add(0);
        Buffers buffers = part.buffers(4);
        Tensor x = gaussian(1, 1, 32);
        Tensor y = gaussian(1, 1, 32);
        Compute cpu = Compute.serial();
        assertEquals(0, WarmCalls.allocatedBytes(() -> part.forward(cpu, batch, x, y, buffers)));
    }

    @Test
    void sizesThatDoNotFitAreNamed() {
        PackedLinear out = linear(gaussian(1, 8, 8));
        assertFails(
                "in: 16 outputs; expected 24, three for each input",
                () -> ShortConvolution.of(linear(gaussian(1, 16, 8)), gaussian(1, 8, 3), out));
        PackedLinear in = linear(gaussian(1, 24, 8));
        assertFails(
                "taps: shape [8, 1]; expected [channels, taps], 2 taps at least",
                () -> ShortConvolution.of(in, gaussian(1, 8, 1), out));
        assertFails("taps: shape [7, 3]; expected [8, taps]", () -> ShortConvolution.of(in, gaussian(1, 7, 3), out));
        assertFails(
                "out: 8 inputs, 24 outputs; expected 8 and 8", () -> ShortConvolution.of(in, gaussian(1, 8, 3), in));
    }

    private static void assertFails(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}

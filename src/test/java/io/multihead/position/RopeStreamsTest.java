package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.internal.layout.Positions;
import io.multihead.position.Rope.Pairing;
import io.multihead.support.Numbers;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Positions per sequence and stream, and scalings with one number per pair. */
@Tag("lanes")
class RopeStreamsTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int TOKENS = 20;
    private static final int DIM = 26;
    /** A position beyond the table of angles. */
    private static final long FAR = 90_000_000;

    private final Tensor x = Numbers.gaussian(zeros(3, 2), new SplittableRandom(1), 0, 1);

    private static Tensor zeros(int batch, int heads) {
        return Tensor.of(new float[batch * heads * TOKENS * DIM], batch, heads, TOKENS, DIM);
    }

    private static long[] positions(int length) {
        SplittableRandom random = new SplittableRandom(length);
        return IntStream.range(0, length)
                .mapToLong(i -> i % 4 == 0 ? 0 : i % 4 == 1 ? FAR + i : random.nextLong(5000))
                .toArray();
    }

    @ParameterizedTest
    @EnumSource(Pairing.class)
    void oneCallHasTheBitsOfACallPerSequence(Pairing pairing) {
        Rope rope = Rope.of(Rope.Config.of(18).withPairing(pairing));
        long[] positions = positions(3 * TOKENS);
        Tensor together = zeros(3, 2);
        Tensor apart = zeros(3, 2);
        rope.apply(SERIAL, x, together, positions);
        for (int b = 0; b < 3; b++) {
            long[] own = Arrays.copyOfRange(positions, b * TOKENS, (b + 1) * TOKENS);
            rope.apply(SERIAL, x.slice(0, b, b + 1), apart.slice(0, b, b + 1), own);
        }
        assertArrayEquals(Numbers.of(apart), Numbers.of(together));
    }

    @ParameterizedTest
    @EnumSource(Pairing.class)
    void eachPairHasTheBitsOfARotationByItsStream(Pairing pairing) {
        Rope plain = Rope.of(Rope.Config.of(18).withPairing(pairing));
        Rope rope = plain.withSections(RopeSections.consecutive(4, 0, 3, 2));
        int[] streams = {0, 0, 0, 0, 2, 2, 2, 3, 3};
        long[] positions = positions(4 * 3 * TOKENS);
        Tensor actual = zeros(3, 2);
        rope.apply(SERIAL, x, actual, positions);
        Tensor[] byStream = new Tensor[4];
        for (int stream = 0; stream < 4; stream++) {
            byStream[stream] = zeros(3, 2);
            long[] own = Arrays.copyOfRange(positions, stream * 3 * TOKENS, (stream + 1) * 3 * TOKENS);
            plain.apply(SERIAL, x, byStream[stream], own);
        }
        double[] rotated = Numbers.of(actual);
        for (int i = 0; i < rotated.length; i++) {
            int d = i % DIM;
            int pair = pairing == Pairing.INTERLEAVED ? d / 2 : d % 9;
            Tensor expected = byStream[d < 18 ? streams[pair] : 0];
            assertTrue(rotated[i] == Positions.get(expected, i), "element " + i);
        }
        float[] rows = x.toArray();
        for (int row = 0; row < rows.length / DIM; row++) {
            int token = row / (2 * TOKENS) * TOKENS + row % TOKENS;
            long[] own = IntStream.range(0, 4)
                    .mapToLong(s -> positions[s * 3 * TOKENS + token])
                    .toArray();
            rope.apply(rows, row * DIM, own);
        }
        assertArrayEquals(actual.toArray(), rows);
    }

    @Test
    void textHasTheBitsOfARopeWithoutSections() {
        Rope plain = Rope.of(Rope.Config.of(18));
        Rope rope = plain.withSections(RopeSections.interleaved(3, 3, 3));
        Tensor expected = zeros(3, 2);
        Tensor actual = zeros(3, 2);
        plain.apply(SERIAL, x, expected, 7);
        rope.apply(SERIAL, x, actual, 7);
        assertArrayEquals(Numbers.of(expected), Numbers.of(actual));
        long[] perToken = positions(TOKENS);
        plain.apply(SERIAL, x, expected, perToken);
        rope.apply(SERIAL, x, actual, perToken);
        assertArrayEquals(Numbers.of(expected), Numbers.of(actual));
    }

    /** Qwen3-VL's pattern is THWTHW... until height and width are used up, then T. */
    @Test
    void interleavedSectionsFollowTheModels() {
        RopeSections sections = RopeSections.interleaved(24, 20, 20);
        assertArrayEquals(IntStream.range(0, 20).map(i -> 3 * i + 1).toArray(), sections.pairs()[1]);
        assertArrayEquals(IntStream.range(0, 20).map(i -> 3 * i + 2).toArray(), sections.pairs()[2]);
        int[] time = IntStream.concat(IntStream.range(0, 20).map(i -> 3 * i), IntStream.range(60, 64))
                .toArray();
        assertArrayEquals(time, sections.pairs()[0]);
        assertEquals("interleaved[24, 20, 20]", sections.toString());
    }

    @Test
    void sectionsThatDoNotFitAreNamed() {
        Named.mentions(() -> RopeSections.interleaved(20, 24, 20), "sizes: [20, 24, 20]");
        Named.mentions(() -> RopeSections.consecutive(1, -1), "sizes[1]: -1");
        Named.mentions(() -> RopeSections.consecutive(), "sizes: []");
        Named.mentions(() -> RopeSections.consecutive(Integer.MAX_VALUE, Integer.MAX_VALUE), "sizes: [2147483647");
        Rope rope = Rope.of(Rope.Config.of(8));
        Named.mentions(
                () -> rope.withSections(RopeSections.consecutive(1, 2)),
                "sections: consecutive[1, 2]; expected 4 pairs");
        Rope three = rope.withSections(RopeSections.consecutive(2, 1, 1));
        Named.mentions(
                () -> three.apply(SERIAL, x, x, new long[TOKENS * 2]),
                "positions: length 40; expected 20 [tokens], or 60 [batch, tokens], or 180 [streams, batch, tokens]");
        Named.mentions(() -> three.apply(new float[8], 0, new long[2]), "positions: length 2; expected 1");
        Named.mentions(() -> three.apply(new float[8], 0, new long[] {1, -1, 1}), "positions[1]: -1");
        Named.mentions(() -> three.apply(new float[8], 1, new long[3]), "at: 1");
    }

    @Test
    void longRopeChoosesItsFactorsByTheContext() {
        List<Double> within = List.of(1.0, 1.5);
        List<Double> beyond = List.of(2.0, 8.0);
        RopeScaling.LongRope scaling = RopeScaling.LongRope.of(within, beyond, 4096, 131_072);
        // sqrt(1 + ln 32 / ln 4096), the attention factor of Phi-3 with 128k tokens
        assertEquals(Math.sqrt(1 + 5.0 / 12), scaling.attentionFactor(), 1e-15);
        assertEquals(1.0 / 8 / 100, scaling.frequency(1, 4, 10_000), 1e-17);
        RopeScaling small = scaling.withContext(4096);
        assertEquals(1 / 1.5 / 100, small.frequency(1, 4, 10_000), 1e-17);
        assertEquals(scaling.attentionFactor(), small.attentionFactor());
        assertEquals(1, RopeScaling.LongRope.of(within, beyond, 4096, 4096).attentionFactor());
        assertEquals(1.25, scaling.withAttentionFactor(1.25).attentionFactor());
    }

    @Test
    void proportionalFrequenciesAreThoseOfTheWholeHead() {
        Rope.Config config = Rope.Config.of(16).withTheta(1e6);
        RopeScaling quarter = new RopeScaling.Proportional(0.25, 1);
        for (int pair = 0; pair < 8; pair++) {
            double expected = pair < 2 ? Math.pow(1e6, -pair / 8.0) : 0;
            assertEquals(expected, quarter.frequency(pair, 16, 1e6), 1e-15);
        }
        float[] row = new float[16];
        Arrays.fill(row, 1);
        Rope.of(config.withScaling(quarter)).apply(row, 0, 3);
        assertNotEquals(1, row[1]);
        assertNotEquals(1, row[9]); // the partner is half a head away
        assertEquals(1, row[2]);
        assertEquals(1, row[10]);
    }

    @Test
    void scalingsThatDoNotFitAreNamed() {
        Named.mentions(
                () -> Rope.of(Rope.Config.of(8).withScaling(RopeScaling.Frequencies.of(1, 0.5))),
                "scaling: made for 2 pairs; expected 4, half of rotaryDims 8");
        Named.mentions(() -> RopeScaling.Frequencies.of(1, -0.5), "perPosition[1]: -0.5");
        Named.mentions(() -> new RopeScaling.Proportional(1.5, 1), "fraction: 1.5");
        Named.mentions(() -> new RopeScaling.Proportional(Double.NaN, 1), "fraction: NaN");
        Named.mentions(
                () -> RopeScaling.LongRope.of(List.of(1.0), List.of(1.0, 2.0), 64, 128), "longFactors: 2 elements");
        Named.mentions(() -> RopeScaling.LongRope.of(List.of(0.0), List.of(1.0), 64, 128), "shortFactors[0]: 0.0");
        Named.mentions(() -> RopeScaling.LongRope.of(List.of(1.0), List.of(1.0), 1, 128), "originalContext: 1");
    }
}

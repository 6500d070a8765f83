package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.reference.ReferenceRope;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleFunction;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.ThrowingSupplier;

/**
 * The frequency of every pair with each scaling is compared with the specification. Other tests check the ranges of
 * parameters.
 */
class RopeScalingTest {
    /**
     * The difference of two formulas for one number: a few roundings, and logarithms with a relative error of 2^-53 in
     * the ramps.
     */
    private static final double CLOSE = 1e-12;

    private static final double BEYOND = Double.POSITIVE_INFINITY;

    @Test
    void everyPairHasTheFrequencyOfTheSpecification() {
        for (int dims : new int[] {2, 6, 64, 128, 256}) {
            for (double theta : new double[] {1.5, 1e4, 5e5}) {
                ReferenceRope plain = ReferenceRope.of(dims, theta, false);
                same(RopeScaling.NONE, plain, dims, theta);
                same(new RopeScaling.Linear(4), plain.linear(4), dims, theta);
                same(new RopeScaling.NtkAware(8), plain.ntk(8), dims, theta);
                same(new RopeScaling.Yarn(16, 4096, 32, 1, 1.25), plain.yarn(16, 4096, 32, 1, 1.25, true), dims, theta);
                same(new RopeScaling.Yarn(4, 64, 20, 2, 1), plain.yarn(4, 64, 20, 2, 1, true), dims, theta);
                RopeScaling.Yarn gptOss = new RopeScaling.Yarn(32, 4096, 32, 1, 1.25, false);
                same(gptOss, plain.yarn(32, 4096, 32, 1, 1.25, false), dims, theta);
                same(new RopeScaling.Llama3(8, 1, 4, 8192), plain.llama3(8, 1, 4, 8192), dims, theta);
                same(new RopeScaling.Proportional(0.5, 2), plain.proportional(dims / 4, 2), dims, theta);
            }
        }
    }

    private static void same(RopeScaling scaling, ReferenceRope reference, int dims, double theta) {
        double[] expected = reference.frequencies();
        assertEquals(dims / 2, expected.length);
        for (int pair = 0; pair < expected.length; pair++) {
            double actual = scaling.frequency(pair, dims, theta);
            assertEquals(expected[pair], actual, CLOSE * expected[pair], scaling + " pair " + pair + " of " + dims);
        }
    }

    @Test
    void aYarnOfAFactorHasTheNumbersOfThePaper() {
        RopeScaling.Yarn yarn = RopeScaling.Yarn.of(16, 4096);
        assertEquals(new RopeScaling.Yarn(16, 4096, 32, 1, yarn.attentionFactor()), yarn);
        assertEquals(1.2772588722239782, yarn.attentionFactor(), 1e-15); // 0.1 ln 16 + 1
        assertEquals(1, RopeScaling.Yarn.of(1, 4096).attentionFactor());
        assertEquals(new RopeScaling.Yarn(16, 4096, 20, 2, yarn.attentionFactor()), yarn.withBetas(20, 2));
        assertEquals(new RopeScaling.Yarn(16, 4096, 32, 1, 1.5), yarn.withAttentionFactor(1.5));
        fails("factor: 0.5; expected a finite number of at least 1", () -> RopeScaling.Yarn.of(0.5, 4096));
    }

    /** With 64 dims and base 150,000, the ends of the ramp are 8.0928 and 17.3980, as computed by another program. */
    @Test
    void aYarnThatDoesNotTruncateHasTheFrequenciesOfGptOss() {
        RopeScaling.Yarn yarn = RopeScaling.Yarn.of(32, 4096).withTruncate(false);
        assertEquals(1.3465735902799727, yarn.attentionFactor(), 1e-15);
        Map<Integer, Double> expected = Map.of(
                0, 1.0,
                8, 0.050813274815461475,
                9, 0.03170569618466377,
                12, 0.006794959489732219,
                17, 0.0001293187012450632,
                18, 3.8308812373753384e-05,
                31, 3.0235114281192144e-07);
        expected.forEach((pair, frequency) ->
                assertEquals(frequency, yarn.frequency(pair, 64, 150_000), CLOSE * frequency, "pair " + pair));
        // rounded ends increase the frequency of pair 17 by 76 %
        double rounded = yarn.withTruncate(true).frequency(17, 64, 150_000);
        assertEquals(0.00022794779579512524, rounded, CLOSE);
        assertEquals(yarn, yarn.withBetas(32, 1).withAttentionFactor(yarn.attentionFactor()));
    }

    @Test
    void magnitudesAreThoseOfThePaperAndOfDeepSeek() {
        assertEquals(1, RopeScaling.Yarn.magnitude(1, 1));
        assertEquals(1, RopeScaling.Yarn.magnitude(40, 0));
        assertEquals(1.3688879454113936, RopeScaling.Yarn.magnitude(40, 1), 1e-15);
        fails("mscale: -1.0; expected a finite number of at least 0.0", () -> RopeScaling.Yarn.magnitude(2, -1));
    }

    @Test
    void factorsAreFiniteAndAtLeastOne() {
        List<DoubleFunction<RopeScaling>> makers = List.of(
                RopeScaling.Linear::new,
                RopeScaling.NtkAware::new,
                f -> new RopeScaling.Yarn(f, 64, 32, 1, 1),
                f -> new RopeScaling.Llama3(f, 1, 4, 64),
                f -> new RopeScaling.Proportional(0.5, f));
        for (DoubleFunction<RopeScaling> maker : makers) {
            assertDoesNotThrow(() -> maker.apply(1));
            for (double bad : new double[] {Math.nextDown(1.0), Double.NaN, BEYOND}) {
                fails("factor: " + bad + "; expected a finite number of at least 1", () -> maker.apply(bad));
            }
        }
    }

    @Test
    void attentionFactorsAreFiniteAndAboveZero() {
        List<DoubleFunction<RopeScaling>> makers = List.of(
                f -> new RopeScaling.Yarn(2, 64, 32, 1, f),
                f -> new RopeScaling.LongRope(List.of(1.0), List.of(1.0), 64, 64, f),
                f -> new RopeScaling.Frequencies(List.of(1.0), f));
        for (DoubleFunction<RopeScaling> maker : makers) {
            assertEquals(Double.MIN_VALUE, maker.apply(Double.MIN_VALUE).attentionFactor());
            for (double bad : new double[] {0, Double.NaN, BEYOND}) {
                fails("attentionFactor: " + bad + "; expected a finite number above 0", () -> maker.apply(bad));
            }
        }
    }

    @Test
    void endsOfARampAreInOrder() {
        fails("betaSlow: 0.0; expected a finite number above 0", () -> new RopeScaling.Yarn(2, 64, 32, 0, 1));
        for (double fast : new double[] {1, 0.5, Double.NaN, BEYOND}) {
            fails(
                    "betaFast: " + fast + "; expected a finite number above betaSlow 1.0",
                    () -> new RopeScaling.Yarn(2, 64, fast, 1, 1));
            fails(
                    "highFrequencyFactor: " + fast + "; expected a finite number above lowFrequencyFactor 1.0",
                    () -> new RopeScaling.Llama3(2, 1, fast, 64));
        }
    }

    @Test
    void pairsAndBasesOutOfRangeAreNamed() {
        List<RopeScaling> scalings = List.of(
                RopeScaling.NONE,
                new RopeScaling.Linear(2),
                new RopeScaling.NtkAware(2),
                new RopeScaling.Yarn(2, 64, 32, 1, 1),
                new RopeScaling.Llama3(2, 1, 4, 64),
                RopeScaling.Frequencies.of(1, 2, 3),
                new RopeScaling.LongRope(Collections.nCopies(3, 1.0), Collections.nCopies(3, 2.0), 64, 128, 1),
                new RopeScaling.Proportional(0.5, 2));
        for (RopeScaling scaling : scalings) {
            assertTrue(Double.isFinite(scaling.frequency(2, 6, Math.nextUp(1.0))), scaling.toString());
            for (int bad : new int[] {-1, 3}) {
                startsWith("pair: " + bad + "; ", () -> scaling.frequency(bad, 6, 1e4));
            }
            for (int bad : new int[] {0, -2, 7}) {
                startsWith("rotaryDims: " + bad + "; ", () -> scaling.frequency(0, bad, 1e4));
            }
            for (double bad : new double[] {1, Double.NaN, BEYOND}) {
                startsWith("theta: " + bad + "; ", () -> scaling.frequency(0, 6, bad));
            }
        }
    }

    @Test
    void aLongRopeWithinItsContextKeepsItsScale() {
        List<Double> one = List.of(1.0);
        assertEquals(1, RopeScaling.LongRope.of(one, one, 4096, 4096).attentionFactor());
        assertEquals(1, RopeScaling.LongRope.of(one, one, 4096, 2048).attentionFactor());
        // sqrt(1 + ln 32 / ln 4096)
        assertEquals(
                1.1902380714238083,
                RopeScaling.LongRope.of(one, one, 4096, 131_072).attentionFactor(),
                1e-15);
    }

    private static void fails(String message, ThrowingSupplier<?> call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::get).getMessage());
    }

    private static void startsWith(String message, Supplier<?> call) {
        String actual = assertThrows(IllegalArgumentException.class, call::get).getMessage();
        assertTrue(actual.startsWith(message), actual);
    }
}

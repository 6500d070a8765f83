package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Softmax;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Philox;
import io.multihead.reference.ReferenceSampling;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;

class SamplerProperties {
    private static final SeenTokens NOTHING = new SeenTokens(new TokenList());

    /**
     * The choice equals the choice of the specification, which adds probabilities in another order. A sum of n numbers has a relative error
     * of n 2^-53, and so has the rest of a part of it after n subtractions. Interval borders and the drawn number therefore differ by at
     * most 4 n 2^-53. The intervals of several improbable tokens may lie within this error.
     */
    @Property(tries = 1000)
    void theChoiceIsThatOfTheSpecification(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 1500) int vocabulary,
            @ForAll @IntRange(min = 0, max = 1600) int topK,
            @ForAll @DoubleRange(min = 0.01, max = 1) double topP,
            @ForAll @DoubleRange(min = 0, max = 0.9) double minP,
            @ForAll @DoubleRange(min = 0.1, max = 3) double temperature) {
        Random random = new Random(seed);
        float[] logits = logits(random, vocabulary);
        Sampling sampling = new Sampling(
                temperature,
                random.nextBoolean() ? 0 : 1 + topK % (1 + vocabulary),
                random.nextBoolean() ? 1 : topP,
                random.nextBoolean() ? 0 : minP,
                Penalties.NONE,
                seed);
        double[] probabilities = probabilities(logits, temperature);
        Sampler sampler = new Sampler(vocabulary);
        double uniform = uniform(seed, 5);
        assertChosen(probabilities, sampling, uniform, sampler.choose(logits, NOTHING, sampling, 5));
        for (double other : new double[] {0, Math.nextDown(1.0), random.nextDouble()}) {
            assertChosen(probabilities, sampling, other, sampler.draw(sampling, other));
        }
    }

    /** The number 1 - 2^-53 is in the last 2^-52 of the sum, which contains the intervals of many of 201 tokens. */
    @Example
    void theLastOfManyImprobableTokensAreDrawn() {
        theChoiceIsThatOfTheSpecification(-144, 201, 0, 0.01, 0, 0.1);
        theChoiceIsThatOfTheSpecification(-3298, 442, 65, 0.95, 0.02, 0.17);
    }

    /**
     * Requires that, for some number of tokens that top-p may keep, the chosen token is one that the drawn number may select within the
     * error.
     */
    private static void assertChosen(double[] probabilities, Sampling sampling, double uniform, int chosen) {
        double error = 4 * probabilities.length * 0x1p-53;
        int least = kept(probabilities, sampling, -error).size();
        List<Integer> most = kept(probabilities, sampling, error);
        for (int count = least; count <= most.size(); count++) {
            List<Integer> ids = most.subList(0, count);
            int rank = ids.indexOf(chosen);
            if (rank >= rank(probabilities, ids, uniform - error)
                    && rank <= rank(probabilities, ids, uniform + error)) {
                return;
            }
        }
        fail(chosen + " is not the choice of " + least + " to " + most.size() + " tokens of " + most + " by "
                + uniform);
    }

    private static List<Integer> kept(double[] probabilities, Sampling sampling, double error) {
        double topP = sampling.topP() == 1 ? 1 : Math.min(sampling.topP() + error, Math.nextDown(1.0));
        return ReferenceSampling.kept(probabilities, sampling.topK(), topP, sampling.minP());
    }

    private static int rank(double[] probabilities, List<Integer> ids, double uniform) {
        return ids.indexOf(ReferenceSampling.draw(probabilities, ids, uniform));
    }

    private static double[] probabilities(float[] logits, double temperature) {
        float[] probabilities = new float[logits.length];
        try (Compute cpu = Compute.serial()) {
            AttentionOptions scaled = AttentionOptions.DEFAULT.withScale(1 / temperature);
            Softmax.forward(cpu, Tensor.of(logits), Tensor.of(probabilities), null, scaled);
        }
        return IntStream.range(0, logits.length)
                .mapToDouble(id -> probabilities[id])
                .toArray();
    }

    private static float[] logits(Random random, int vocabulary) {
        float[] logits = new float[vocabulary];
        int kinds = 2 + random.nextInt(60);
        for (int id = 0; id < vocabulary; id++) {
            // there are few different values, so that several tokens are equally probable
            logits[id] = random.nextInt(kinds) * 0.25f;
        }
        return logits;
    }

    private static double uniform(long seed, long index) {
        int[] words = new int[4];
        Philox.draw(seed, index, 0, words);
        return (((long) words[0] << 32 | words[1] & 0xffffffffL) >>> 11) * 0x1p-53;
    }

    /** Logits that become infinite at a small temperature have no probabilities. Greedy sampling still chooses the largest logit. */
    @Example
    void logitsThatATemperatureMakesInfiniteAreAnError() {
        Sampler sampler = new Sampler(3);
        float[] logits = {1, 3e38f, 2};
        assertEquals(
                "temperature: 0.01 for logits that it makes infinite; expected a larger temperature, or 0 for greedy",
                assertThrows(ArithmeticException.class, () -> sampler.choose(logits, NOTHING, Sampling.of(0.01, 1), 0))
                        .getMessage());
        float[] low = {-3e38f, -2e38f, -3e38f};
        assertThrows(ArithmeticException.class, () -> sampler.choose(low, NOTHING, Sampling.of(0.01, 1), 0));
        assertEquals(1, sampler.choose(low, NOTHING, Sampling.GREEDY, 0));
        assertEquals(1, sampler.choose(logits, NOTHING, Sampling.of(1, 1), 0));
        assertEquals(1, sampler.choose(logits, NOTHING, Sampling.GREEDY, 0));
        assertEquals(1, sampler.choose(new float[] {-3e38f, 2, -3e38f}, NOTHING, Sampling.of(0.01, 1), 0));
    }

    @Example
    void tokensAreDrawnAsOftenAsTheyAreProbable() {
        float[] logits = {(float) Math.log(1), (float) Math.log(2), (float) Math.log(5)};
        int[] counts = new int[3];
        int draws = 20_000;
        Sampler sampler = new Sampler(3);
        for (int index = 0; index < draws; index++) {
            counts[sampler.choose(logits, NOTHING, Sampling.of(1, 42), index)]++;
        }
        double[] expected = {1 / 8.0, 2 / 8.0, 5 / 8.0};
        for (int id = 0; id < 3; id++) {
            // five standard deviations of a binomial count; the seed is fixed, so the test does not fail by chance
            double deviation = Math.sqrt(draws * expected[id] * (1 - expected[id]));
            assertEquals(draws * expected[id], counts[id], 5 * deviation, "token " + id);
        }
    }

    @Example
    void minPIsMeasuredByTheMostProbableTokenOfTopK() {
        float[] logits = {(float) Math.log(0.7), (float) Math.log(0.2), (float) Math.log(0.1)};
        Sampling sampling = Sampling.of(1, 3).withTopK(2).withMinP(0.5);
        Sampler sampler = new Sampler(3);
        for (int index = 0; index < 50; index++) {
            assertEquals(0, sampler.choose(logits, NOTHING, sampling, index));
        }
    }

    /**
     * One token has probability 1, and three tokens have 0.75 units in the last place of it. Added in the order of probabilities, each of
     * the first two adds a whole unit, so that these two add as much as all three in the order of ids.
     */
    @Example
    void withoutTopPNoTokenIsLost() {
        float small = (float) Math.log(0.75 * 0x1p-52);
        float[] logits = {small, small, small, 0};
        Sampler sampler = new Sampler(4);
        Sampling sampling = Sampling.of(1, 3).withMinP(1e-17);
        assertEquals(3, sampler.choose(logits, NOTHING, sampling, 0));
        assertEquals(2, sampler.draw(sampling, Math.nextDown(1.0)));
        assertEquals(0, sampler.draw(sampling.withTopP(1 - 0x1p-52), Math.nextDown(1.0)));
    }

    /** These tokens have probabilities that f32 rounds to zero. */
    @Example
    void whatHasNoProbabilityIsNeverDrawn() {
        float[] logits = {-200, 0, -200};
        Sampler sampler = new Sampler(3);
        for (Sampling sampling : List.of(
                Sampling.of(1, 3),
                Sampling.of(1, 3).withTopK(3),
                Sampling.of(1, 3).withTopP(0.999999),
                Sampling.of(1, 3).withMinP(1e-300))) {
            assertEquals(1, sampler.choose(logits, NOTHING, sampling, 0));
            assertEquals(1, sampler.draw(sampling, Math.nextDown(1.0)));
        }
    }

    @Example
    void greedyTakesTheFirstOfTheLargest() {
        assertEquals(1, new Sampler(4).choose(new float[] {1, 7, 7, 2}, NOTHING, Sampling.GREEDY, 0));
    }

    @Example
    void penaltiesChangeTokensOfTheText() {
        SeenTokens seen = new SeenTokens(new TokenList());
        seen.add(1);
        seen.add(2);
        Sampling repetition = Sampling.GREEDY.withPenalties(new Penalties(2, 0));
        Sampling presence = Sampling.GREEDY.withPenalties(new Penalties(1, 0.5));
        Sampler sampler = new Sampler(3);
        assertEquals(1, sampler.choose(new float[] {3, 7, -1}, seen, repetition, 0));
        assertEquals(0, sampler.choose(new float[] {4, 7, -1}, seen, repetition, 0));
        assertEquals(0, sampler.choose(new float[] {-1.5f, -8, -1}, seen, repetition, 0));
        assertEquals(1, sampler.choose(new float[] {3, 3.75f, 0}, seen, presence, 0));
        assertEquals(0, sampler.choose(new float[] {3, 3.25f, 0}, seen, presence, 0));
    }

    /** The prompt is token 0, and the generated tokens are 1, 2 and 1. */
    @Example
    void penaltiesOfGeneratedTokensDoNotCountThePrompt() {
        SeenTokens seen = new SeenTokens(new TokenList());
        seen.add(0);
        seen.endPrompt();
        seen.add(1);
        seen.add(2);
        seen.add(1);
        Sampling presence = Sampling.GREEDY.withPenalties(new Penalties(1, 0, 0.5, 0));
        Sampling frequency = Sampling.GREEDY.withPenalties(new Penalties(1, 0, 0, 0.5));
        Sampling both = Sampling.GREEDY.withPenalties(new Penalties(1, 0, 0.25, 0.25));
        Sampler sampler = new Sampler(3);
        assertEquals(1, sampler.choose(new float[] {3, 3.75f, 0}, seen, presence, 0));
        assertEquals(0, sampler.choose(new float[] {3, 3.25f, 0}, seen, presence, 0));
        assertEquals(1, sampler.choose(new float[] {3, 4.25f, 0}, seen, frequency, 0));
        assertEquals(0, sampler.choose(new float[] {3, 3.75f, 3.25f}, seen, frequency, 0));
        assertEquals(2, sampler.choose(new float[] {3, 3.75f, 3.625f}, seen, frequency, 0));
        assertEquals(1, sampler.choose(new float[] {3, 3.875f, 3.25f}, seen, both, 0));
        assertEquals(0, sampler.choose(new float[] {3, 3.625f, 3.25f}, seen, both, 0));
        seen.truncate(2);
        assertEquals(1, sampler.choose(new float[] {3, 3.75f, 0}, seen, frequency, 0));
        seen.endPrompt();
        assertEquals(1, sampler.choose(new float[] {3, 3.25f, 0}, seen, presence, 0));
    }

    @Example
    void logProbabilitiesAreThoseOfTheModel() {
        float[] logits = {(float) Math.log(1), (float) Math.log(2), (float) Math.log(5)};
        Sampler sampler = new Sampler(3);
        sampler.measure(logits);
        // a log-sum-exp in f32 is rounded by 2^-24 of its value, 2.08, and so are its exponentials
        assertEquals(Math.log(5 / 8.0), sampler.logProbability(logits, 2), 5e-7);
    }

    @Example
    void logitsThatAreNoNumbersAreNamed() {
        String message = assertThrows(ArithmeticException.class, () -> new Sampler(2)
                        .choose(new float[] {1, Float.NaN}, NOTHING, Sampling.GREEDY, 0))
                .getMessage();
        assertTrue(message.startsWith("logits: NaN for token 1"), message);
    }

    @Example
    void settingsOutOfRangeAreNamed() {
        assertThrows(IllegalArgumentException.class, () -> Sampling.of(-1, 0));
        assertThrows(IllegalArgumentException.class, () -> Sampling.of(1e-40, 0));
        assertThrows(IllegalArgumentException.class, () -> Sampling.GREEDY.withTopK(-1));
        assertThrows(IllegalArgumentException.class, () -> Sampling.GREEDY.withTopP(0));
        assertThrows(IllegalArgumentException.class, () -> Sampling.GREEDY.withMinP(Double.NaN));
        assertThrows(IllegalArgumentException.class, () -> new Penalties(0, 0));
        assertThrows(IllegalArgumentException.class, () -> new Penalties(1, 0, Double.NaN, 0));
        assertThrows(IllegalArgumentException.class, () -> new Penalties(1, 0, 0, Double.NaN));
    }
}

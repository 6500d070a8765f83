package io.multihead.position;

import io.multihead.internal.base.Checks;
import java.util.Arrays;
import java.util.List;

/**
 * A method that stretches a rotary embedding beyond the context that it was trained with. All implementations are immutable and
 * thread-safe. Pairs are counted from 0, the fastest. Without scaling, pair {@code i} turns by {@code theta^(-2 i /
 * rotaryDims)} per position.
 */
public sealed interface RopeScaling {
    /** No scaling. */
    RopeScaling NONE = new None();

    /**
     * Returns the angle by which one pair turns per position.
     *
     * @param pair from 0 to {@code rotaryDims / 2 - 1}
     * @param rotaryDims the number of elements of a row that are rotated
     * @param theta the base, greater than 1
     * @return radians per position
     * @throws IllegalArgumentException if there is no such pair, {@code rotaryDims} is odd or below 2, or theta is not above 1
     */
    double frequency(int pair, int rotaryDims, double theta);

    /** {@return the factor of cosine and sine: scores change by its square; 1 unless the scaling sets it} */
    default double attentionFactor() {
        return 1;
    }

    /** Unchanged frequencies (Su et al. 2021, section 3.2.2). */
    record None() implements RopeScaling {
        @Override
        public double frequency(int pair, int rotaryDims, double theta) {
            requirePair(pair, rotaryDims, theta);
            return StrictMath.pow(theta, -2.0 * pair / rotaryDims);
        }
    }

    /**
     * Position interpolation (Chen et al. 2023): positions, and therefore angles, are divided by the
     * factor.
     *
     * @param factor at least 1
     */
    record Linear(double factor) implements RopeScaling {
        /**
         * Checks the factor.
         *
         * @throws IllegalArgumentException unless {@code factor} is finite and at least 1
         */
        public Linear {
            requireFactor(factor);
        }

        @Override
        public double frequency(int pair, int rotaryDims, double theta) {
            return NONE.frequency(pair, rotaryDims, theta) / factor;
        }
    }

    /**
     * NTK-aware scaling (Peng et al. 2023, section 3.1): the base becomes {@code theta * factor^(d / (d - 2))} with {@code d = rotaryDims},
     * so that the fastest pair keeps its frequency and the frequency of the slowest pair is divided by the factor.
     *
     * @param factor at least 1
     */
    record NtkAware(double factor) implements RopeScaling {
        /**
         * Checks the factor.
         *
         * @throws IllegalArgumentException unless {@code factor} is finite and at least 1
         */
        public NtkAware {
            requireFactor(factor);
        }

        @Override
        public double frequency(int pair, int rotaryDims, double theta) {
            requirePair(pair, rotaryDims, theta);
            // the exponents multiplied out: a single pair (d = 2) keeps its frequency
            double slower = pair == 0 ? 1 : StrictMath.pow(factor, -2.0 * pair / (rotaryDims - 2));
            return NONE.frequency(pair, rotaryDims, theta) * slower;
        }
    }

    /**
     * YaRN (Peng et al. 2023, section 3): pairs that turn at least {@code betaFast} times within the original context keep their frequency.
     * The frequency of pairs that turn at most {@code betaSlow} times is divided by the factor, and pairs in between are blended. The ramp
     * is the same as in the published models: linear in the pair's index (the paper's own formula is linear in the number of turns).
     *
     * @param factor at least 1
     * @param originalContext tokens that the model was trained with, at least 1
     * @param betaFast greater than {@code betaSlow}; the paper has 32
     * @param betaSlow greater than 0; the paper has 1
     * @param attentionFactor the factor of cosine and sine, greater than 0
     * @param truncate whether the ends of the ramp are rounded outwards to whole pairs: true for most models, false for GPT-OSS
     */
    record Yarn(
            double factor,
            long originalContext,
            double betaFast,
            double betaSlow,
            double attentionFactor,
            boolean truncate)
            implements RopeScaling {
        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Yarn {
            requireFactor(factor);
            Checks.atLeast(originalContext, 1, "originalContext");
            requireOrder(betaSlow, "betaSlow", betaFast, "betaFast");
            requirePositive(attentionFactor, "attentionFactor");
        }

        /**
         * Makes a scaling with a ramp whose ends are rounded.
         *
         * @param factor at least 1
         * @param originalContext tokens that the model was trained with, at least 1
         * @param betaFast greater than {@code betaSlow}
         * @param betaSlow greater than 0
         * @param attentionFactor the factor of cosine and sine, greater than 0
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Yarn(double factor, long originalContext, double betaFast, double betaSlow, double attentionFactor) {
            this(factor, originalContext, betaFast, betaSlow, attentionFactor, true);
        }

        /**
         * Returns the scaling with the values of the paper: betas 32 and 1, attention factor {@code magnitude(factor, 1)}; the ends of the
         * ramp are rounded.
         *
         * @param factor at least 1
         * @param originalContext tokens that the model was trained with, at least 1
         * @return the scaling
         * @throws IllegalArgumentException if a number is out of its range
         */
        public static Yarn of(double factor, long originalContext) {
            return new Yarn(factor, originalContext, 32, 1, magnitude(factor, 1));
        }

        /**
         * Returns {@code 0.1 mscale ln(factor) + 1}, YaRN's factor of queries and keys (section 3.4, with mscale 1). A model with {@code
         * mscale} and {@code mscale_all_dim} has the attention factor {@code magnitude(factor, mscale) / magnitude(factor, mscaleAllDim)};
         * DeepSeek's models multiply the scale of their scores by the square of {@code magnitude(factor, mscaleAllDim)}, too.
         *
         * @param factor at least 1
         * @param mscale a finite number of at least 0
         * @return at least 1
         * @throws IllegalArgumentException if a number is out of its range
         */
        public static double magnitude(double factor, double mscale) {
            requireFactor(factor);
            return 0.1 * Checks.finiteAtLeast(mscale, 0, "mscale") * StrictMath.log(factor) + 1;
        }

        /**
         * Returns this scaling with other ends of the ramp.
         *
         * @param newBetaFast the number of turns from which on a pair keeps its frequency
         * @param newBetaSlow the number of turns up to which a pair's frequency is divided by the factor
         * @return the changed scaling
         */
        public Yarn withBetas(double newBetaFast, double newBetaSlow) {
            return new Yarn(factor, originalContext, newBetaFast, newBetaSlow, attentionFactor, truncate);
        }

        /**
         * Returns this scaling with another attention factor; 1 leaves cosine and sine unchanged.
         *
         * @param newAttentionFactor the factor of cosine and sine
         * @return the changed scaling
         */
        public Yarn withAttentionFactor(double newAttentionFactor) {
            return new Yarn(factor, originalContext, betaFast, betaSlow, newAttentionFactor, truncate);
        }

        /**
         * Returns this scaling with ends of the ramp that are rounded or not.
         *
         * @param newTruncate whether they are rounded outwards to whole pairs
         * @return the changed scaling
         */
        public Yarn withTruncate(boolean newTruncate) {
            return new Yarn(factor, originalContext, betaFast, betaSlow, attentionFactor, newTruncate);
        }

        @Override
        public double frequency(int pair, int rotaryDims, double theta) {
            requirePair(pair, rotaryDims, theta);
            double fast = pairOf(betaFast, rotaryDims, theta);
            double slow = pairOf(betaSlow, rotaryDims, theta);
            double low = within(truncate ? StrictMath.floor(fast) : fast, rotaryDims);
            double high = within(truncate ? StrictMath.ceil(slow) : slow, rotaryDims);
            // an empty ramp becomes a step just above its pair
            double ramp = (pair - low) / (low == high ? 0.001 : high - low);
            double divided = Math.clamp(ramp, 0.0, 1.0);
            double frequency = NONE.frequency(pair, rotaryDims, theta);
            return frequency / factor * divided + frequency * (1 - divided);
        }

        /** Returns the pair, as a real number, that makes {@code turns} full rotations within the original context. */
        private double pairOf(double turns, int rotaryDims, double theta) {
            double slowdown = originalContext / (turns * 2 * Math.PI);
            return rotaryDims * StrictMath.log(slowdown) / (2 * StrictMath.log(theta));
        }

        private static double within(double pair, int rotaryDims) {
            return Math.clamp(pair, 0.0, rotaryDims - 1.0);
        }
    }

    /**
     * The scaling of Llama 3.1 (Llama Team 2024, and the models' published code): pairs with wavelengths below
     * {@code originalContext / highFrequencyFactor} keep their frequency, the frequencies of pairs with wavelengths above
     * {@code originalContext / lowFrequencyFactor} are divided by the factor, and the frequencies in between are blended, linearly in
     * {@code originalContext / wavelength}.
     *
     * @param factor at least 1; the models have 8 or 32
     * @param lowFrequencyFactor greater than 0; the models have 1
     * @param highFrequencyFactor greater than {@code lowFrequencyFactor}; the models have 4
     * @param originalContext tokens that the model was trained with, at least 1; the models have 8192
     */
    record Llama3(double factor, double lowFrequencyFactor, double highFrequencyFactor, long originalContext)
            implements RopeScaling {
        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Llama3 {
            requireFactor(factor);
            requireOrder(lowFrequencyFactor, "lowFrequencyFactor", highFrequencyFactor, "highFrequencyFactor");
            Checks.atLeast(originalContext, 1, "originalContext");
        }

        @Override
        public double frequency(int pair, int rotaryDims, double theta) {
            double frequency = NONE.frequency(pair, rotaryDims, theta);
            double turns = originalContext * frequency / (2 * Math.PI);
            double kept =
                    Math.clamp((turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor), 0.0, 1.0);
            return frequency / factor * (1 - kept) + frequency * kept;
        }
    }

    /**
     * LongRoPE (Ding et al. 2024): the frequency of each pair is divided by its own factor. There are two lists, for sequences within and
     * beyond the original context, as Phi-3 and Hugging Face's {@code longrope} have them. An embedding has one of these lists, because
     * keys rotated with one list do not fit queries rotated with the other. Choose the list before the first token, by the largest number
     * of tokens of a sequence. The paper's unscaled initial tokens are not used by the published models and are not implemented here.
     *
     * @param shortFactors one per pair, greater than 0: for a context of at most {@code originalContext}
     * @param longFactors one per pair, greater than 0: for a longer context
     * @param originalContext tokens that the model was trained with, at least 1
     * @param context the largest number of tokens of a sequence, at least 1
     * @param attentionFactor the factor of cosine and sine, greater than 0
     */
    record LongRope(
            List<Double> shortFactors,
            List<Double> longFactors,
            long originalContext,
            long context,
            double attentionFactor)
            implements RopeScaling {
        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if a number is out of its range, or the lists differ in
         *     length
         */
        public LongRope {
            shortFactors = positive(shortFactors, "shortFactors");
            longFactors = positive(longFactors, "longFactors");
            if (longFactors.size() != shortFactors.size()) {
                throw Checks.fail(
                        "longFactors",
                        longFactors.size() + " elements",
                        "expected " + shortFactors.size() + ", as shortFactors");
            }
            Checks.atLeast(originalContext, 1, "originalContext");
            Checks.atLeast(context, 1, "context");
            requirePositive(attentionFactor, "attentionFactor");
        }

        /**
         * Returns the published models' scaling: attention factor {@code sqrt(1 + ln(s) / ln(originalContext))} with {@code s =
         * context / originalContext}, 1 if {@code s} is at most 1 (Abdin et al. 2024, Phi-3).
         *
         * @param shortFactors one per pair, greater than 0
         * @param longFactors one per pair, greater than 0
         * @param originalContext {@code original_max_position_embeddings} of the model, at least 2
         * @param context {@code max_position_embeddings} of the model: if it is more than {@code originalContext}, the long
         *     factors are used, unless {@link #withContext} sets fewer tokens
         * @return the scaling
         * @throws IllegalArgumentException if a number is out of its range, or the lists differ in length
         */
        public static LongRope of(
                List<Double> shortFactors, List<Double> longFactors, long originalContext, long context) {
            Checks.atLeast(originalContext, 2, "originalContext");
            Checks.atLeast(context, 1, "context");
            double stretch = StrictMath.log((double) context / originalContext);
            double factor = stretch <= 0 ? 1 : StrictMath.sqrt(1 + stretch / StrictMath.log(originalContext));
            return new LongRope(shortFactors, longFactors, originalContext, context, factor);
        }

        /**
         * {@return this scaling for sequences of another length; the attention factor does not change}
         *
         * @param newContext the largest number of tokens of a sequence
         */
        public LongRope withContext(long newContext) {
            return new LongRope(shortFactors, longFactors, originalContext, newContext, attentionFactor);
        }

        /**
         * {@return this scaling with another attention factor}
         *
         * @param newAttentionFactor the factor of cosine and sine
         */
        public LongRope withAttentionFactor(double newAttentionFactor) {
            return new LongRope(shortFactors, longFactors, originalContext, context, newAttentionFactor);
        }

        @Override
        public double frequency(int pair, int rotaryDims, double theta) {
            double frequency = NONE.frequency(pair, rotaryDims, theta);
            return frequency / element(context <= originalContext ? shortFactors : longFactors, pair, rotaryDims);
        }
    }

    /**
     * Explicit frequencies instead of powers of the base: {@code inv_freq} of a checkpoint.
     *
     * @param perPosition radians per position of each pair, finite and at least 0; the base has no effect
     * @param attentionFactor the factor of cosine and sine, greater than 0
     */
    record Frequencies(List<Double> perPosition, double attentionFactor) implements RopeScaling {
        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Frequencies {
            perPosition = Checks.noNulls(perPosition, "perPosition");
            for (int pair = 0; pair < perPosition.size(); pair++) {
                Checks.finiteAtLeast(perPosition.get(pair), 0, "perPosition[" + pair + "]");
            }
            requirePositive(attentionFactor, "attentionFactor");
        }

        /**
         * Returns the frequencies without an attention factor.
         *
         * @param perPosition radians per position of each pair, finite and at least 0; copied
         * @return the scaling
         * @throws IllegalArgumentException if a number is out of its range
         */
        public static Frequencies of(double... perPosition) {
            return new Frequencies(
                    Arrays.stream(Checks.notNull(perPosition, "perPosition"))
                            .boxed()
                            .toList(),
                    1);
        }

        @Override
        public double frequency(int pair, int rotaryDims, double theta) {
            requirePair(pair, rotaryDims, theta);
            return element(perPosition, pair, rotaryDims);
        }
    }

    /**
     * Proportional scaling: the fastest {@code fraction} of all pairs rotates, with the frequencies of the whole {@code rotaryDims} divided
     * by a factor. The other pairs have frequency 0, and are multiplied by cosine 1 and sine 0. With half-split pairs and
     * {@code rotaryDims = headDim} the scaling is Hugging Face's {@code proportional}, in which element {@code i} is paired with
     * {@code i + headDim / 2}; with fewer {@code rotaryDims}, the pairs would be different.
     *
     * @param fraction {@code partial_rotary_factor}, 0 to 1; {@code fraction * rotaryDims / 2} is rounded down to whole pairs
     * @param factor at least 1
     */
    record Proportional(double fraction, double factor) implements RopeScaling {
        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Proportional {
            if (!(fraction >= 0 && fraction <= 1)) {
                throw Checks.fail("fraction", String.valueOf(fraction), "expected a number from 0 to 1");
            }
            requireFactor(factor);
        }

        @Override
        public double frequency(int pair, int rotaryDims, double theta) {
            double frequency = NONE.frequency(pair, rotaryDims, theta);
            return pair < (int) (fraction * rotaryDims / 2) ? frequency / factor : 0;
        }
    }

    private static List<Double> positive(List<Double> factors, String argument) {
        List<Double> copy = Checks.noNulls(factors, argument);
        for (int pair = 0; pair < copy.size(); pair++) {
            requirePositive(copy.get(pair), argument + "[" + pair + "]");
        }
        return copy;
    }

    private static double element(List<Double> perPair, int pair, int rotaryDims) {
        if (perPair.size() != rotaryDims / 2) {
            throw Checks.fail(
                    "scaling",
                    "made for " + perPair.size() + " pairs",
                    "expected " + rotaryDims / 2 + ", half of rotaryDims " + rotaryDims);
        }
        return perPair.get(pair);
    }

    private static void requirePositive(double value, String argument) {
        if (!(value > 0 && value < Double.POSITIVE_INFINITY)) {
            throw Checks.fail(argument, String.valueOf(value), "expected a finite number above 0");
        }
    }

    private static void requirePair(int pair, int rotaryDims, double theta) {
        if (rotaryDims < 2 || rotaryDims % 2 != 0) {
            throw Checks.fail("rotaryDims", String.valueOf(rotaryDims), "expected an even number of at least 2");
        }
        Checks.index(pair, rotaryDims / 2, "pair");
        if (!(theta > 1 && theta < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("theta", String.valueOf(theta), "expected a finite number above 1");
        }
    }

    private static void requireFactor(double factor) {
        if (!(factor >= 1 && factor < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("factor", String.valueOf(factor), "expected a finite number of at least 1");
        }
    }

    private static void requireOrder(double low, String lowName, double high, String highName) {
        requirePositive(low, lowName);
        if (!(high > low && high < Double.POSITIVE_INFINITY)) {
            throw Checks.fail(highName, String.valueOf(high), "expected a finite number above " + lowName + " " + low);
        }
    }
}

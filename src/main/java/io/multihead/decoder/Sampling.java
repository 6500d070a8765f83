package io.multihead.decoder;

import io.multihead.internal.base.Checks;

/**
 * The choice of the next token from a row of logits. The steps and their order are the same as in Hugging Face's {@code generate}:
 * penalties, temperature, top-k, top-p (Holtzman et al. 2020, section 3.1), min-p (Nguyen et al. 2024). Then one random number is drawn.
 * Tokens of equal probability are in the order of their ids.
 *
 * <p>The random number of a token is a function of the seed and of the token's index in the text. Therefore a text does not depend on other
 * texts, or on the batches in which its session was computed. Immutable.
 *
 * @param temperature divides the logits, at least 1e-6; 0 takes the token with the largest logit, and among equal logits the smallest id
 * @param topK keeps this number of the most probable tokens; 0 keeps all
 * @param topP keeps the most probable tokens whose share of the probability of the tokens after top-k reaches this number; 1 keeps all
 * @param minP drops tokens whose probability is less than this factor times the largest probability; 0 keeps all
 * @param penalties penalties of tokens that are already in the text
 * @param seed the seed of the random numbers
 */
public record Sampling(double temperature, int topK, double topP, double minP, Penalties penalties, long seed) {
    private static final double LEAST_TEMPERATURE = 1e-6;

    /** The token with the largest logit. */
    public static final Sampling GREEDY = new Sampling(0, 0, 1, 0, Penalties.NONE, 0);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if a value is out of its range
     */
    public Sampling {
        Checks.finiteAtLeast(temperature, 0, "temperature");
        if (temperature > 0 && temperature < LEAST_TEMPERATURE) {
            throw Checks.fail(
                    "temperature",
                    String.valueOf(temperature),
                    "expected 0, which is greedy, or at least " + LEAST_TEMPERATURE);
        }
        Checks.atLeast(topK, 0, "topK");
        Checks.probability(topP, "topP");
        Checks.probability(minP, "minP");
        Checks.notNull(penalties, "penalties");
        if (topP == 0) {
            throw Checks.fail("topP", "0", "expected more than 0; temperature 0 takes the most probable token");
        }
    }

    /**
     * {@return sampling from the whole distribution at a temperature}
     *
     * @param temperature divides the logits
     * @param seed the seed of the random numbers
     */
    public static Sampling of(double temperature, long seed) {
        return GREEDY.withTemperature(temperature).withSeed(seed);
    }

    /**
     * {@return this sampling with another temperature}
     *
     * @param newTemperature divides the logits; 0 takes the most probable token
     */
    public Sampling withTemperature(double newTemperature) {
        return new Sampling(newTemperature, topK, topP, minP, penalties, seed);
    }

    /**
     * {@return this sampling with another top-k}
     *
     * @param newTopK keeps this number of tokens; 0 keeps all
     */
    public Sampling withTopK(int newTopK) {
        return new Sampling(temperature, newTopK, topP, minP, penalties, seed);
    }

    /**
     * {@return this sampling with another top-p}
     *
     * @param newTopP keeps the most probable tokens whose share reaches this number; 1 keeps all
     */
    public Sampling withTopP(double newTopP) {
        return new Sampling(temperature, topK, newTopP, minP, penalties, seed);
    }

    /**
     * {@return this sampling with another min-p}
     *
     * @param newMinP drops tokens whose probability is less than this factor times the largest probability
     */
    public Sampling withMinP(double newMinP) {
        return new Sampling(temperature, topK, topP, newMinP, penalties, seed);
    }

    /**
     * {@return this sampling with other penalties}
     *
     * @param newPenalties penalties of tokens that are already in the text
     */
    public Sampling withPenalties(Penalties newPenalties) {
        return new Sampling(temperature, topK, topP, minP, newPenalties, seed);
    }

    /**
     * {@return this sampling with another seed}
     *
     * @param newSeed the seed of the random numbers
     */
    public Sampling withSeed(long newSeed) {
        return new Sampling(temperature, topK, topP, minP, penalties, newSeed);
    }
}

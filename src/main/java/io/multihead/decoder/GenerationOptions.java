package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * How a text is generated. Immutable.
 *
 * @param sampling how tokens are chosen
 * @param maxTokens most tokens of the text, at least 1
 * @param stops texts that end the text before the place where the first of them begins; none is empty. One that is complete waits while
 *     another that began before it may still become complete, so that the text does not depend on how tokens divide it; of those that begin
 *     at one place the shortest ends the text
 * @param logProbabilities whether tokens have their logarithms of probability, which takes a pass over the logits
 * @param whenFull what happens when the session's context is full
 * @param draftTokens most tokens that are guessed from the text so far and verified in one step (prompt lookup, Saxena 2023); 0 for none.
 *     The text is the same
 */
public record GenerationOptions(
        Sampling sampling,
        int maxTokens,
        List<String> stops,
        boolean logProbabilities,
        WhenFull whenFull,
        int draftTokens) {

    /** Greedy, at most 256 tokens. */
    public static final GenerationOptions DEFAULT =
            new GenerationOptions(Sampling.GREEDY, 256, List.of(), false, WhenFull.STOP, 0);

    /** What happens when the context is full. */
    public enum WhenFull {
        /** The text ends with {@link FinishReason#CONTEXT_FULL}. */
        STOP,
        /**
         * The oldest tokens of the session are dropped, and positions go on. The text is then not that of a session with a longer
         * context, and models that were trained with fewer positions may fall apart. A session that has slid takes no more prompts.
         */
        SLIDE
    }

    /**
     * Checks the numbers and texts.
     *
     * @throws IllegalArgumentException if a number is outside of its range, or a stop text is empty
     */
    public GenerationOptions {
        Checks.notNull(sampling, "sampling");
        Checks.atLeast(maxTokens, 1, "maxTokens");
        stops = Checks.noNulls(stops, "stops");
        for (int i = 0; i < stops.size(); i++) {
            if (stops.get(i).isEmpty()) {
                throw Checks.fail("stops[" + i + "]", "empty", "expected a text");
            }
        }
        Checks.notNull(whenFull, "whenFull");
        Checks.atLeast(draftTokens, 0, "draftTokens");
    }

    /**
     * {@return these options with another way to choose tokens}
     *
     * @param newSampling how tokens are chosen
     */
    public GenerationOptions withSampling(Sampling newSampling) {
        return new GenerationOptions(newSampling, maxTokens, stops, logProbabilities, whenFull, draftTokens);
    }

    /**
     * {@return these options with another limit}
     *
     * @param newMaxTokens most tokens of the text
     */
    public GenerationOptions withMaxTokens(int newMaxTokens) {
        return new GenerationOptions(sampling, newMaxTokens, stops, logProbabilities, whenFull, draftTokens);
    }

    /**
     * {@return these options with other stop texts}
     *
     * @param newStops texts that end the text
     */
    public GenerationOptions withStops(String... newStops) {
        List<String> all = List.of(Checks.noNulls(newStops, "stops"));
        return new GenerationOptions(sampling, maxTokens, all, logProbabilities, whenFull, draftTokens);
    }

    /**
     * {@return these options with or without logarithms of probability}
     *
     * @param wanted whether tokens have them
     */
    public GenerationOptions withLogProbabilities(boolean wanted) {
        return new GenerationOptions(sampling, maxTokens, stops, wanted, whenFull, draftTokens);
    }

    /**
     * {@return these options with another way when the context is full}
     *
     * @param newWhenFull the way
     */
    public GenerationOptions withWhenFull(WhenFull newWhenFull) {
        return new GenerationOptions(sampling, maxTokens, stops, logProbabilities, newWhenFull, draftTokens);
    }

    /**
     * {@return these options with speculation by prompt lookup}
     *
     * @param newDraftTokens most tokens that are guessed at once; 0 for none
     */
    public GenerationOptions withDraftTokens(int newDraftTokens) {
        return new GenerationOptions(sampling, maxTokens, stops, logProbabilities, whenFull, newDraftTokens);
    }
}

package io.multihead.decoder;

import io.multihead.grammar.TokenConstraint;
import io.multihead.internal.base.Checks;
import java.time.Duration;
import java.util.List;

/**
 * Options of the generation of a text. Immutable.
 *
 * @param sampling the method of choosing tokens
 * @param limits the limits of the text, which the model may end earlier
 * @param mostProbable the number of the model's most probable tokens that each token carries, in addition to its own log-probability;
 *     {@link #NO_PROBABILITIES} for neither. Both need a pass over the logits
 * @param draftTokens the largest number of draft tokens, which are guessed from the previous text and verified in one step (prompt lookup,
 *     Saxena 2023), at most {@link #MAX_DRAFT_TOKENS}; 0 for none. The text does not depend on this number
 * @param constraint the restriction of tokens: JSON that conforms to a schema, a grammar, or rules of the caller; {@link
 *     TokenConstraint#NONE} for none. Each text gets a separate filter
 * @param controlTokens whether the text has the names of control tokens, such as {@code [TOOL_CALLS]}, except end tokens; an {@link
 *     AnswerParser} needs these names
 */
public record GenerationOptions(
        Sampling sampling,
        TextLimits limits,
        int mostProbable,
        int draftTokens,
        TokenConstraint constraint,
        boolean controlTokens) {
    /** The largest number of draft tokens: the tokens of a step except the token before them. */
    public static final int MAX_DRAFT_TOKENS = 255;

    /** Tokens have no log-probabilities. */
    public static final int NO_PROBABILITIES = -1;

    /** Greedy sampling of at most 256 tokens. */
    public static final GenerationOptions DEFAULT = new GenerationOptions(
            Sampling.GREEDY, TextLimits.DEFAULT, NO_PROBABILITIES, 0, TokenConstraint.NONE, false);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if a number is out of its range
     */
    public GenerationOptions {
        Checks.notNull(sampling, "sampling");
        Checks.notNull(limits, "limits");
        Checks.notNull(constraint, "constraint");
        Checks.atLeast(mostProbable, NO_PROBABILITIES, "mostProbable");
        Checks.index(draftTokens, MAX_DRAFT_TOKENS + 1L, "draftTokens");
    }

    /** {@return the largest number of tokens of the text} */
    public int maxTokens() {
        return limits.maxTokens();
    }

    /** {@return the longest time of the call; {@link TextLimits#NO_TIMEOUT} for no limit} */
    public Duration timeout() {
        return limits.timeout();
    }

    /** {@return the stop sequences, which end the text} */
    public List<String> stopSequences() {
        return limits.stopSequences();
    }

    /** {@return the behavior when the session's context is full} */
    public WhenFull whenFull() {
        return limits.whenFull();
    }

    /**
     * {@return these options with another method of choosing tokens}
     *
     * @param newSampling the method of choosing tokens
     */
    public GenerationOptions withSampling(Sampling newSampling) {
        return new GenerationOptions(newSampling, limits, mostProbable, draftTokens, constraint, controlTokens);
    }

    /**
     * {@return these options with other limits}
     *
     * @param newLimits the limits of the text
     */
    public GenerationOptions withLimits(TextLimits newLimits) {
        return new GenerationOptions(sampling, newLimits, mostProbable, draftTokens, constraint, controlTokens);
    }

    /**
     * {@return these options with another limit of tokens}
     *
     * @param newMaxTokens the largest number of tokens of the text
     */
    public GenerationOptions withMaxTokens(int newMaxTokens) {
        return withLimits(new TextLimits(newMaxTokens, timeout(), stopSequences(), whenFull()));
    }

    /**
     * {@return these options with a limit of time}. A text that reaches the limit ends with {@link FinishReason#TIMEOUT}, and has the
     * tokens generated until then.
     *
     * @param newTimeout the time limit of the call, including prefill and waiting for memory; more than zero
     */
    public GenerationOptions withTimeout(Duration newTimeout) {
        return withLimits(new TextLimits(maxTokens(), newTimeout, stopSequences(), whenFull()));
    }

    /**
     * {@return these options with other stop sequences}
     *
     * @param newStopSequences the stop sequences, which end the text
     */
    public GenerationOptions withStopSequences(String... newStopSequences) {
        List<String> all = List.of(Checks.noNulls(newStopSequences, "stopSequences"));
        return withLimits(new TextLimits(maxTokens(), timeout(), all, whenFull()));
    }

    /**
     * {@return these options with or without log-probabilities}
     *
     * @param wanted whether tokens have log-probabilities
     */
    public GenerationOptions withLogProbabilities(boolean wanted) {
        return withMostProbable(wanted ? Math.max(0, mostProbable) : NO_PROBABILITIES);
    }

    /** {@return whether tokens have their log-probabilities} */
    public boolean logProbabilities() {
        return mostProbable >= 0;
    }

    /**
     * {@return these options with the most probable tokens, too}
     *
     * @param tokens the number of most probable tokens that each token carries, in addition to its own log-probability; {@link
     *     #NO_PROBABILITIES} for neither
     */
    public GenerationOptions withMostProbable(int tokens) {
        return new GenerationOptions(sampling, limits, tokens, draftTokens, constraint, controlTokens);
    }

    /**
     * {@return these options with another behavior when the context is full}
     *
     * @param newWhenFull the behavior
     */
    public GenerationOptions withWhenFull(WhenFull newWhenFull) {
        return withLimits(new TextLimits(maxTokens(), timeout(), stopSequences(), newWhenFull));
    }

    /**
     * {@return these options with draft tokens from prompt lookup}
     *
     * @param newDraftTokens the largest number of draft tokens of a step; 0 for none
     */
    public GenerationOptions withDraftTokens(int newDraftTokens) {
        return new GenerationOptions(sampling, limits, mostProbable, newDraftTokens, constraint, controlTokens);
    }

    /**
     * {@return these options with a constraint}
     *
     * @param newConstraint the restriction of tokens
     */
    public GenerationOptions withConstraint(TokenConstraint newConstraint) {
        return new GenerationOptions(sampling, limits, mostProbable, draftTokens, newConstraint, controlTokens);
    }

    /**
     * {@return these options with or without the names of control tokens in the text}
     *
     * @param shown whether the text has these names
     */
    public GenerationOptions withControlTokens(boolean shown) {
        return new GenerationOptions(sampling, limits, mostProbable, draftTokens, constraint, shown);
    }
}

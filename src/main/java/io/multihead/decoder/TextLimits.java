package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * When a generated text ends, unless the model ends it. Immutable.
 *
 * @param maxTokens most tokens of the text, at least 1
 * @param timeout most time of the call that generates the text, its prompt and the time that it waits for memory included; more than
 *     zero, {@link #NO_TIMEOUT} for no limit. The call ends with the step that runs then
 * @param stopSequences texts that end the text before the place where the first of them begins; none is empty. A complete one waits while another
 *     that began earlier may still become complete, so that the text does not depend on its division into tokens. Of several that begin at
 *     one place the shortest ends the text
 * @param whenFull the behavior when the session's context is full
 */
public record TextLimits(int maxTokens, Duration timeout, List<String> stopSequences, WhenFull whenFull) {
    /** No limit of time. */
    public static final Duration NO_TIMEOUT = ChronoUnit.FOREVER.getDuration();

    /** At most 256 tokens. */
    public static final TextLimits DEFAULT = new TextLimits(256, NO_TIMEOUT, List.of(), WhenFull.STOP);

    private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE);

    /**
     * Checks the numbers and texts.
     *
     * @throws IllegalArgumentException if a number is outside of its range, the timeout is not above zero, or a stop sequence is empty
     */
    public TextLimits {
        Checks.atLeast(maxTokens, 1, "maxTokens");
        if (!Checks.notNull(timeout, "timeout").isPositive()) {
            throw Checks.fail("timeout", timeout.toString(), "expected more than zero");
        }
        stopSequences = Checks.noNulls(stopSequences, "stopSequences");
        for (int i = 0; i < stopSequences.size(); i++) {
            if (stopSequences.get(i).isEmpty()) {
                throw Checks.fail("stopSequences[" + i + "]", "empty", "expected a text");
            }
        }
        Checks.notNull(whenFull, "whenFull");
    }

    /** Returns the nanoseconds of a duration, or as many as a long holds. */
    static long nanos(Duration duration) {
        return duration.compareTo(LONGEST) < 0 ? duration.toNanos() : Long.MAX_VALUE;
    }
}

package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * The limits of a generated text, which the model may end earlier. Immutable.
 *
 * @param maxTokens the largest number of tokens of the text, at least 1
 * @param timeout the time limit of the call, including prefill and waiting for memory; more than zero, {@link #NO_TIMEOUT} for no
 *     limit. The call ends after the step that runs at that time
 * @param stopSequences the stop sequences, none of which is empty. The text ends before the first stop sequence. If an earlier position may
 *     still become a stop sequence, the decision waits, so the text does not depend on its division into tokens. If several stop sequences
 *     begin at one position, the shortest ends the text
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
     * @throws IllegalArgumentException if a number is out of its range, the timeout is not above zero, or a stop sequence is empty
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

    /** Returns the nanoseconds of a duration, or the largest {@code long} if there are more. */
    static long nanos(Duration duration) {
        return duration.compareTo(LONGEST) < 0 ? duration.toNanos() : Long.MAX_VALUE;
    }
}

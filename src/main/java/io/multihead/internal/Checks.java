package io.multihead.internal;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Argument checks and the wording of their messages: {@code name: what it is; what was needed}.
 *
 * <p>Messages are built only on failure, so that a passing check allocates nothing.
 */
public final class Checks {
    /** The longest array that every JVM can allocate. */
    public static final int MAX_ARRAY_LENGTH = Integer.MAX_VALUE - 8;

    private Checks() {}

    /** Returns {@code value}, or fails naming {@code argument} when it is null. */
    public static <T> T notNull(@Nullable T value, String argument) {
        if (value == null) {
            throw new NullPointerException(argument + ": null; expected a value");
        }
        return value;
    }

    /** Fails unless {@code value >= least}. */
    public static long atLeast(long value, long least, String argument) {
        if (value < least) {
            throw fail(argument, String.valueOf(value), "expected at least " + least);
        }
        return value;
    }

    /** Fails unless {@code 0 <= value < limit}. */
    public static long index(long value, long limit, String argument) {
        if (value < 0 || value >= limit) {
            throw fail(argument, String.valueOf(value), "expected 0 to " + (limit - 1));
        }
        return value;
    }

    /** Fails unless packed sequences start at 0, never fall and end with the tokens; {@code tensor} says whose they are. */
    public static void offsets(long[] offsets, long tokens, Object tensor) {
        boolean rises =
                notNull(offsets, "offsets").length > 0 && offsets[0] == 0 && offsets[offsets.length - 1] == tokens;
        for (int i = 1; rises && i < offsets.length; i++) {
            rises = offsets[i] >= offsets[i - 1];
        }
        if (!rises) {
            throw fail(
                    "offsets",
                    Arrays.toString(offsets),
                    "expected numbers that rise from 0 to the " + tokens + " tokens of " + tensor);
        }
    }

    /** Narrows a size that must fit a Java array, or fails naming it. */
    public static int fitsInt(long value, String argument) {
        if (value < 0 || value > MAX_ARRAY_LENGTH) {
            throw fail(argument, String.valueOf(value), "expected 0 to " + MAX_ARRAY_LENGTH);
        }
        return (int) value;
    }

    /** The exception for an illegal argument: {@code argument: actual; expected}. */
    public static IllegalArgumentException fail(String argument, String actual, String expected) {
        return new IllegalArgumentException(argument + ": " + actual + "; " + expected);
    }
}

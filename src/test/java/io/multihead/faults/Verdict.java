package io.multihead.faults;

import io.multihead.cache.CacheFullException;
import java.io.IOException;
import java.util.regex.Pattern;

/** Decides whether an exception explains the error to a caller. It must name an argument, or be the JDK's exception for unusable memory. */
final class Verdict {
    private static final Pattern NAMED = Pattern.compile("(?s)[^:;]{1,1100}: .+; .+");
    private static final int LONGEST = 4000;

    private Verdict() {}

    /** Returns whether the documentation promises this exception. */
    static boolean isNamed(Throwable thrown) {
        String message = String.valueOf(thrown.getMessage());
        if (thrown instanceof OutOfMemoryError) {
            // the JDK throws this for the arena of the caller, and names the number of bytes
            return message.startsWith("Cannot reserve ") || message.startsWith("Unable to allocate ");
        }
        if (thrown instanceof IOException || thrown instanceof WrongThreadException) {
            return true;
        }
        boolean type = thrown.getClass() == IllegalArgumentException.class
                || thrown.getClass() == NullPointerException.class
                || thrown.getClass() == IllegalStateException.class
                || thrown instanceof CacheFullException;
        boolean closed = thrown instanceof IllegalStateException && message.equals("Already closed");
        return type
                && message.length() <= LONGEST
                && (closed || NAMED.matcher(message).matches());
    }
}

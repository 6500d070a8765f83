package io.multihead.fuzz;

import com.sun.management.ThreadMXBean;
import io.multihead.cache.CacheFullException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.util.regex.Pattern;

/**
 * What a call on bytes of anybody's making may do: return, or throw an exception that the documentation promises, and allocate in
 * proportion to the bytes.
 */
final class Oracle {
    /** The form of all messages: the file or argument, what it is, and what was expected. */
    private static final Pattern NAMED = Pattern.compile("(?s).+: .+; expected .+");

    private static final int LONGEST_MESSAGE = 8000;

    /** What a call may allocate whatever the input: buffers, an encoder's scratch, and classes that are initialised by it. */
    private static final long ALLOCATED_BY_ANY = 4 << 20;

    /** A member of an object costs an entry, two strings and their arrays for a few bytes of text, and is copied into maps by name. */
    private static final long ALLOCATED_PER_BYTE = 500;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private Oracle() {}

    interface Call {
        void run() throws IOException;
    }

    /** Makes a call on an input of {@code bytes} bytes; returns whether it was accepted. */
    static boolean accepts(long bytes, Call call) {
        return accepts(bytes, "", call);
    }

    /** Makes a call whose messages must begin with {@code name}. */
    static boolean accepts(long bytes, String name, Call call) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        try {
            call.run();
            return true;
        } catch (UncheckedIOException | IOException failed) {
            require(failed.getMessage() != null, "no message in " + failed);
            return false;
        } catch (IllegalArgumentException | CacheFullException rejected) {
            String message = String.valueOf(rejected.getMessage());
            if (!message.startsWith(name)
                    || !NAMED.matcher(message).matches()
                    || message.length() > LONGEST_MESSAGE) {
                throw new AssertionError("message: " + message, rejected);
            }
            return false;
        } finally {
            long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
            require(
                    allocated <= ALLOCATED_BY_ANY + ALLOCATED_PER_BYTE * bytes,
                    allocated + " bytes allocated for an input of " + bytes);
        }
    }

    static void require(boolean holds, String message) {
        if (!holds) {
            throw new AssertionError(message);
        }
    }
}

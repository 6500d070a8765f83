package io.multihead.fuzz;

import com.sun.management.ThreadMXBean;
import io.multihead.cache.CacheFullException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.util.regex.Pattern;

/**
 * The allowed outcomes of a call on untrusted bytes: it returns, or throws an exception that the documentation promises, and allocates in
 * proportion to the bytes.
 */
final class Oracle {
    /** The form of all messages: the file or argument, its value, and the expected value. */
    private static final Pattern NAMED = Pattern.compile("(?s).+: .+; expected .+");

    private static final int LONGEST_MESSAGE = 8000;

    /** Bytes that an input of any length may allocate: buffers, tables, and arrays that were grown in advance. */
    private static final long ALLOCATED_BY_ANY = 4 << 20;

    /**
     * Bytes that a language model may allocate in addition: buffers in which weights are packed, tables of its tokenizer, its other files.
     */
    static final long ALLOCATED_BY_DECODER = 12 << 20;

    /** A member of an object costs an entry, two strings and their arrays for a few bytes of text, and is copied into maps by name. */
    private static final long ALLOCATED_PER_BYTE = 500;

    /** The first run of a path loads and initializes classes, which allocate too. */
    private static final int TRIES = 3;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static long uncounted;

    private Oracle() {}

    interface Call {
        void run() throws IOException;
    }

    interface Computation<E extends Exception> {
        void run() throws E;
    }

    /** Checks an input of {@code bytes} bytes, in all calls together, and its allocations; repeats it if they exceed the limit. */
    static void check(long bytes, Runnable input) {
        check(bytes, 0, input);
    }

    /** The same, if {@code besides} bytes are allocated in addition, for any size of the input. */
    static void check(long bytes, long besides, Runnable input) {
        long most = ALLOCATED_BY_ANY + besides + ALLOCATED_PER_BYTE * bytes;
        long least = Long.MAX_VALUE;
        for (int i = 0; i < TRIES && least > most; i++) {
            uncounted = 0;
            long before = THREADS.getCurrentThreadAllocatedBytes();
            input.run();
            least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before - uncounted);
        }
        require(least <= most, least + " bytes allocated for an input of " + bytes);
    }

    /** Runs code that does not read the input: kernels, whose vectors are objects until they are compiled. */
    static <E extends Exception> void uncounted(Computation<E> calls) throws E {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        try {
            calls.run();
        } finally {
            uncounted += THREADS.getCurrentThreadAllocatedBytes() - before;
        }
    }

    /** Makes a call, whose messages begin with {@code name}; returns whether it was accepted. */
    static boolean accepts(String name, Call call) {
        try {
            call.run();
            return true;
        } catch (UncheckedIOException | IOException failed) {
            require(failed.getMessage() != null, "no message in " + failed);
            return false;
        } catch (IllegalArgumentException | CacheFullException rejected) {
            String message = String.valueOf(rejected.getMessage());
            if (!message.startsWith(name) || !NAMED.matcher(message).matches() || message.length() > LONGEST_MESSAGE) {
                throw new AssertionError("message: " + message, rejected);
            }
            return false;
        }
    }

    /**
     * Makes a call that computes, outside which loading is refused or not.
     *
     * @param finite whether its results have to be finite; else the error that names those that are not is an answer
     */
    static <E extends Exception> void computes(boolean finite, Computation<E> call) throws E {
        try {
            call.run();
        } catch (ArithmeticException notFinite) {
            String message = String.valueOf(notFinite.getMessage());
            if (finite || !NAMED.matcher(message).matches()) {
                throw new AssertionError("message: " + message, notFinite);
            }
        }
    }

    static void require(boolean holds, String message) {
        if (!holds) {
            throw new AssertionError(message);
        }
    }
}

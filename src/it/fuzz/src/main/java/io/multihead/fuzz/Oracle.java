package io.multihead.fuzz;

import com.sun.management.ThreadMXBean;
import io.multihead.cache.CacheFullException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.util.regex.Pattern;

/**
 * The allowed outcomes of a call with untrusted bytes. The call returns, or throws an exception that the documentation
 * promises, and its allocations are proportional to the bytes.
 */
final class Oracle {
    /** The form of all messages: the file or argument, its value, and the expected value. */
    private static final Pattern NAMED = Pattern.compile("(?s).+: .+; expected .+");

    private static final int LONGEST_MESSAGE = 8000;

    /** The bytes that an input of any length may allocate: buffers, tables, and arrays with reserve. */
    private static final long ALLOCATED_BY_ANY = 4 << 20;

    /**
     * The bytes that a language model may allocate in addition: buffers for packing weights, tables of its tokenizer,
     * and its other files.
     */
    static final long ALLOCATED_BY_DECODER = 12 << 20;

    /**
     * The bytes that may be allocated for a byte of the input. For a few bytes of text, a member of an object takes an
     * entry, two strings and their arrays, and is copied into maps.
     */
    private static final long ALLOCATED_PER_BYTE = 500;

    /** The number of runs. The first run of a path loads and initializes classes, which also allocates. */
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

    /**
     * Checks an input of {@code bytes} bytes in total, and its allocations. Repeats the input if allocations exceed the
     * limit.
     */
    static void check(long bytes, Runnable input) {
        check(bytes, 0, input);
    }

    /** Checks an input that may allocate {@code besides} bytes in addition, for any size of the input. */
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

    /**
     * Runs code that does not read the input without counting its allocations. Vectors of kernels are objects until the
     * kernels are compiled.
     */
    static <E extends Exception> void uncounted(Computation<E> calls) throws E {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        try {
            calls.run();
        } finally {
            uncounted += THREADS.getCurrentThreadAllocatedBytes() - before;
        }
    }

    /** Makes a call with messages that begin with {@code name}. Returns whether it was accepted. */
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
     * Makes a call that computes with a loaded model.
     *
     * @param finite whether its results must be finite. Otherwise, an error that names results which are not finite is
     *     allowed.
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

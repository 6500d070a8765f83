package io.multihead.support;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Limits of processor time, for calls that a fault would make very slow. Processor time does not depend on the load of
 * the machine. A waiting call needs no processor time, so there is also a limit of {@link Patience#HANG_SECONDS} of the
 * clock.
 */
public final class CpuTime {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private CpuTime() {}

    /** Makes a call in a separate thread, which is abandoned if the call exceeds its processor time or hangs. */
    public static <T> T within(long seconds, Callable<T> call) throws Exception {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread = Thread.ofPlatform().daemon().start(task);
        long start = System.nanoTime();
        while (true) {
            try {
                return task.get(100, TimeUnit.MILLISECONDS);
            } catch (TimeoutException running) {
                if (THREADS.getThreadCpuTime(thread.threadId()) > TimeUnit.SECONDS.toNanos(seconds)) {
                    throw late(thread, "needs more than " + seconds + " s of a processor");
                }
                if (System.nanoTime() - start > TimeUnit.SECONDS.toNanos(Patience.HANG_SECONDS)) {
                    throw late(thread, "does not end within " + Patience.HANG_SECONDS + " s");
                }
            } catch (ExecutionException failed) {
                if (failed.getCause() instanceof Error error) {
                    throw error;
                }
                throw failed.getCause() instanceof Exception exception ? exception : failed;
            }
        }
    }

    private static AssertionError late(Thread thread, String message) {
        AssertionError late = new AssertionError(message);
        late.setStackTrace(thread.getStackTrace());
        return late;
    }
}

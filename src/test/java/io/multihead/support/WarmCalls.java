package io.multihead.support;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Measures the allocations of compiled calls. */
public final class WarmCalls {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int CALLS = 50;

    private WarmCalls() {}

    /**
     * Repeats a call until it allocates at most {@code most} bytes on the calling thread, and returns the bytes of the
     * last call.
     */
    public static long allocatedBytes(long most, Runnable call) {
        long bytes = Long.MAX_VALUE;
        for (Patience patience = new Patience(); bytes > most && patience.isLeft(); ) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            call.run();
            bytes = THREADS.getCurrentThreadAllocatedBytes() - before;
        }
        return bytes;
    }

    /**
     * Repeats a call until 50 consecutive calls allocate nothing on the calling thread. Returns the bytes of the last
     * 50 calls, which are 0 in case of success.
     */
    public static long allocatedBytes(Runnable call) {
        long bytes = -1;
        for (Patience patience = new Patience(); bytes != 0 && patience.isLeft(); ) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < CALLS; i++) {
                call.run();
            }
            bytes = THREADS.getCurrentThreadAllocatedBytes() - before;
        }
        return bytes;
    }
}

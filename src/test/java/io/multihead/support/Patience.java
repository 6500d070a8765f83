package io.multihead.support;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * The time during which a test repeats code that C2 has not compiled yet: in processor time of this JVM, since a busy machine gives less of
 * it in the same minutes.
 */
public final class Patience {
    /**
     * Seconds after which another thread or process is considered to hang: the longest scenario needs 40 s on two cores, and far longer if ten
     * processes use them.
     */
    public static final long HANG_SECONDS = 1200;

    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /** Two minutes of one processor, or one of two: compilation needs a tenth of that. */
    private static final long NANOS = 120_000_000_000L;

    private final long end = SYSTEM.getProcessCpuTime() + NANOS;

    /** Returns whether there is some left. */
    public boolean isLeft() {
        return SYSTEM.getProcessCpuTime() < end;
    }
}

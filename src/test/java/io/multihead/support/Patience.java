package io.multihead.support;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * How long a test repeats what C2 has not compiled yet: in the time that processors spend on this JVM, of which a busy machine gives less in the
 * same minutes.
 */
public final class Patience {
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

package io.multihead.support;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * The time during which a test repeats code until C2 has compiled it. It is measured in processor time of this JVM,
 * which does not depend on the load of the machine.
 */
public final class Patience {
    /**
     * The seconds after which another thread or process is considered to hang. The longest scenario needs 40 s on two
     * cores, and much longer if ten processes share these cores.
     */
    public static final long HANG_SECONDS = 1200;

    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /** Two minutes of one processor, or one minute of two processors. Compilation needs a tenth of this time. */
    private static final long NANOS = 120_000_000_000L;

    private final long end = SYSTEM.getProcessCpuTime() + NANOS;

    /** Returns whether time is left. */
    public boolean isLeft() {
        return SYSTEM.getProcessCpuTime() < end;
    }
}

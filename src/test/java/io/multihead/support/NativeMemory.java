package io.multihead.support;

import java.lang.management.ManagementFactory;
import java.util.function.LongPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * The native memory of this JVM in category Other, which is the memory of arenas. Native memory tracking counts it to
 * the byte.
 */
public final class NativeMemory {
    /** The JVM option that is needed to read this memory. */
    public static final String TRACKING = "-XX:NativeMemoryTracking=summary";

    private static final Pattern OTHER = Pattern.compile("Other \\(reserved=\\d+, committed=(\\d+)\\)");
    /** The maximum time until threads end, and until the garbage collector finds unreachable objects. */
    private static final long PATIENCE_NANOS = 300_000_000_000L;

    private static final long LONGEST_PAUSE = 100;

    private NativeMemory() {}

    /** Returns the bytes that are allocated now. */
    public static long allocated() {
        Matcher matcher = OTHER.matcher(summary());
        if (!matcher.find()) {
            throw new IllegalStateException("native memory tracking: no category Other; expected one in " + summary());
        }
        return Long.parseLong(matcher.group(1));
    }

    private static String summary() {
        try {
            return (String) ManagementFactory.getPlatformMBeanServer()
                    .invoke(
                            new ObjectName("com.sun.management:type=DiagnosticCommand"),
                            "vmNativeMemory",
                            new Object[] {new String[] {"summary", "scale=B"}},
                            new String[] {String[].class.getName()});
        } catch (JMException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Repeats an action until the allocated bytes are as expected or the time is over, and returns the allocated bytes.
     */
    public static long after(Runnable action, LongPredicate wanted) throws InterruptedException {
        long bytes = -1;
        long pause = 10;
        for (long start = System.nanoTime(); bytes < 0 || System.nanoTime() - start < PATIENCE_NANOS; ) {
            action.run();
            bytes = allocated();
            if (wanted.test(bytes)) {
                break;
            }
            Thread.sleep(pause);
            pause = Math.min(2 * pause, LONGEST_PAUSE); // garbage collections keep a core busy
        }
        return bytes;
    }
}

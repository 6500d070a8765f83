package io.multihead.internal.base;

import java.lang.System.Logger.Level;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Warnings about conditions that make all calls slow, each logged once per JVM in one line to {@link System.Logger} {@code io.multihead}.
 * Results are correct, so otherwise only a profiler would reveal the condition.
 */
public enum PerformanceWarnings {
    /** Vectors of less than 8 floats. */
    NARROW_LANES("vectors of less than 256 bits: expect a quarter to a half of the speed of wider ones"),
    /** No optimizing compiler. */
    NO_C2(
            "the JVM runs without its optimizing compiler, so that every vector is an object: expect a hundredth of the speed"),
    /** Fused multiply-add by decimal arithmetic. */
    NO_FMA("the JVM has no fused multiply-add instruction: expect a thousandth of the speed"),
    /** A warm-up that does not end. */
    SLOW_VECTORS("operations on vectors are still slow after thousands of trials, so that loops without vectors run:"
            + " expect a tenth of the speed until they are compiled"),
    /** A method call per score. */
    CUSTOM_MODIFIER("a score modifier is called for every single score: masks, caps and linear biases are much faster");

    private static final AtomicBoolean REPORTED = new AtomicBoolean();
    private static final int PRODUCTS = 50;
    private static final int TRIALS = 5;
    /**
     * The largest time of 50 fused multiply-adds in hardware. In hardware they take less than a microsecond, even if interpreted, and
     * without hardware close to a millisecond.
     */
    private static final long MOST_NANOS = 20_000;

    private final String message;
    private final AtomicBoolean warned = new AtomicBoolean();

    PerformanceWarnings(String message) {
        this.message = message;
    }

    /** Warns about slow properties of this JVM, which are examined once. */
    public static void report(int lanes) {
        if (!REPORTED.compareAndSet(false, true)) {
            return;
        }
        if (lanes < 8) {
            NARROW_LANES.warnOnce();
        }
        String mode = System.getProperty("java.vm.info", "");
        if (mode.contains("interpreted") || mode.contains("emulated-client")) {
            NO_C2.warnOnce();
        }
        if (!hasFma()) {
            NO_FMA.warnOnce();
        }
    }

    /** Logs this warning unless it has been logged before. */
    public void warnOnce() {
        if (warned.compareAndSet(false, true)) {
            System.getLogger("io.multihead").log(Level.WARNING, message);
        }
    }

    private static boolean hasFma() {
        long best = Long.MAX_VALUE;
        float x = 1.1f;
        for (int trial = 0; trial < TRIALS && best > MOST_NANOS; trial++) {
            long start = System.nanoTime();
            for (int i = 0; i < PRODUCTS; i++) {
                x = Math.fma(x, 0.9f, 0.1f);
            }
            best = Math.min(best, System.nanoTime() - start);
        }
        return best <= MOST_NANOS || Float.isNaN(x);
    }
}

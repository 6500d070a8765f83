package io.multihead.jmh.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.openjdk.jmh.annotations.Param;

/**
 * One call in a JVM that has made all other calls before, in a random order, on the heap and in native memory and with
 * all types of caches, like a service. It is compared with the same call in a separate JVM. C2's decisions for one call
 * must not make another call slower, or make it allocate more than {@link MixedCall#mostBytes}. The end of every fork
 * checks the allocations.
 */
public class MixedBench extends Comparison {
    /** The number of passes over all calls in a mixed JVM, which is enough for C2 to compile the kernels. */
    private static final int PASSES = 30;

    private static final int CHECKED_CALLS = 100;
    private static final long PATIENCE_SECONDS = 20;

    @Param({"alone", "mixed"})
    public String impl;

    @Param({
        "attention",
        "causal",
        "small_attention",
        "sgemm",
        "linear",
        "row",
        "decode",
        "decode_bf16",
        "decode_f16",
        "decode_i8",
        "layer"
    })
    public String timed;

    @Override
    void open() {
        boolean mixed = impl.equals("mixed");
        if (mixed) {
            // every fork, and therefore every round, has another order
            long seed = System.nanoTime();
            System.out.println("order of calls: seed " + seed);
            others(new Random(seed));
        }
        call = MixedCall.of(timed).make(cpu, true);
        call.run();
    }

    /** Checks the allocations of the call, which is now compiled, and closes. */
    @Override
    public void close() throws Exception {
        try {
            requireFewAllocations();
        } finally {
            super.close();
        }
    }

    /** Waits until calls allocate at most the allowed bytes, since a short run ends before all code is compiled. */
    private void requireFewAllocations() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long end = System.nanoTime() + PATIENCE_SECONDS * 1_000_000_000L;
        long most = MixedCall.of(timed).mostBytes();
        long bytes;
        do {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < CHECKED_CALLS; i++) {
                call.run();
            }
            bytes = threads.getCurrentThreadAllocatedBytes() - before;
        } while (bytes > CHECKED_CALLS * most && System.nanoTime() < end);
        if (bytes > CHECKED_CALLS * most) {
            throw new IllegalStateException(impl + " " + timed + ": " + bytes / (double) CHECKED_CALLS
                    + " bytes a call; expected at most " + most);
        }
    }

    private void others(Random random) {
        List<Runnable> calls = new ArrayList<>();
        for (MixedCall other : MixedCall.values()) {
            calls.add(other.make(cpu, true));
            calls.add(other.make(cpu, false));
        }
        for (int pass = 0; pass < PASSES; pass++) {
            Collections.shuffle(calls, random);
            calls.forEach(Runnable::run);
        }
    }
}

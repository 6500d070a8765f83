package io.multihead.jmh.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.function.IntToDoubleFunction;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;

/**
 * The limits of one core and of two simultaneous cores of this machine, measured in Java in the same run as the other
 * benchmarks. Reads have two variants. Set-up chooses the faster variant, since processors differ.
 */
public class Roofline extends Timed {
    /** The bytes that one call reads, which are much more than any cache holds. */
    public static final long BYTES = 1L << 28;

    private static final long LINE = 64;
    /** The time for each variant in set-up. The first half is a warm-up. */
    private static final double TRY_SECONDS = 0.2;

    /** The memory of one thread, outside the heap and aligned to cache lines. */
    @State(Scope.Thread)
    public static class Memory {
        private Arena arena;
        private MemorySegment segment;
        private int streams = 1;

        /**
         * Writes all of the memory, since all pages that were never written share one physical page, and then chooses
         * the variant.
         */
        @Setup
        public void open() {
            arena = Arena.ofShared();
            segment = arena.allocate(BYTES, LINE);
            for (long at = 0; at < BYTES; at += Float.BYTES) {
                segment.set(ValueLayout.JAVA_FLOAT, at, 1e-3f);
            }
            streams = 1 << 2 * fastest(2, variant -> Reads.sum(segment, 1 << 2 * variant));
        }

        @TearDown
        public void close() {
            arena.close();
        }
    }

    /** Returns the floating-point operations of one call of {@link #fmaPeak} with vectors of a number of lanes. */
    public static double operations(int lanes) {
        return 2.0 * FmaChains.VECTORS * lanes;
    }

    @Benchmark
    public float fmaPeak() {
        return FmaChains.run();
    }

    /** Measures {@link #fmaPeak} on two threads. The result is the time of each thread. */
    @Benchmark
    @Threads(2)
    public float fmaPeak2() {
        return FmaChains.run();
    }

    @Benchmark
    public float readBandwidth(Memory memory) {
        return Reads.sum(memory.segment, memory.streams);
    }

    /** Measures reads on two threads with separate memory. */
    @Benchmark
    @Threads(2)
    public float readBandwidth2(Memory memory) {
        return Reads.sum(memory.segment, memory.streams);
    }

    /** Returns the variant with the fastest call. Each variant is called often enough to be compiled. */
    private static int fastest(int variants, IntToDoubleFunction call) {
        int best = 0;
        double least = Double.MAX_VALUE;
        double sink = 0;
        for (int variant = 0; variant < variants; variant++) {
            long start = System.nanoTime();
            for (long now = start, end; (now - start) * 1e-9 < TRY_SECONDS; now = end) {
                sink += call.applyAsDouble(variant);
                end = System.nanoTime();
                if ((end - start) * 1e-9 > TRY_SECONDS / 2 && end - now < least) {
                    least = end - now;
                    best = variant;
                }
            }
        }
        if (Double.isNaN(sink)) {
            throw new IllegalStateException("roofline: " + sink + "; expected a number");
        }
        return best;
    }

    /**
     * Sums of memory, which is read as one stream or as four simultaneous streams. Some processors prefetch four
     * streams better.
     */
    private static final class Reads {
        private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;

        private Reads() {}

        static float sum(MemorySegment memory, int streams) {
            return streams == 1 ? one(memory) : four(memory);
        }

        private static float one(MemorySegment memory) {
            long step = SPECIES.vectorByteSize();
            FloatVector a = FloatVector.zero(SPECIES), b = a, c = a, d = a;
            for (long at = 0; at < BYTES; at += 4 * step) {
                a = a.add(load(memory, at));
                b = b.add(load(memory, at + step));
                c = c.add(load(memory, at + 2 * step));
                d = d.add(load(memory, at + 3 * step));
            }
            return a.add(b).add(c).add(d).lane(0);
        }

        private static float four(MemorySegment memory) {
            long step = SPECIES.vectorByteSize();
            long part = BYTES / 4;
            FloatVector a = FloatVector.zero(SPECIES), b = a, c = a, d = a;
            for (long at = 0; at < part; at += step) {
                a = a.add(load(memory, at));
                b = b.add(load(memory, at + part));
                c = c.add(load(memory, at + 2 * part));
                d = d.add(load(memory, at + 3 * part));
            }
            return a.add(b).add(c).add(d).lane(0);
        }

        private static FloatVector load(MemorySegment memory, long at) {
            return FloatVector.fromMemorySegment(SPECIES, memory, at, ByteOrder.nativeOrder());
        }
    }
}

package io.multihead.jmh.bench;

import java.util.concurrent.TimeUnit;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** What one core of this machine can do at most, and two at once, from Java, in the same run as everything else. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
        value = 5,
        jvmArgs = {"--add-modules", "jdk.incubator.vector"})
public class Roofline {
    /** Fused multiply-adds of one call, in vectors. */
    private static final int STEPS = 1_000_000;

    private static final int CHAINS = 10;
    /** Floats read by one call: 256 MiB, far beyond any cache. */
    public static final int FLOATS = 1 << 26;

    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;

    private final float[] memory = new float[FLOATS];
    private final float[] factors = {0.999f, 1e-3f};

    /** Floating-point operations of one call of {@link #fmaPeak} with vectors of so many lanes. */
    public static double operations(int lanes) {
        return 2.0 * CHAINS * STEPS * lanes;
    }

    /** Ten independent chains of fused multiply-adds: {@code 2 * 10 * lanes * 10^6} operations. */
    @Benchmark
    public float fmaPeak() {
        FloatVector x = FloatVector.broadcast(SPECIES, factors[0]);
        FloatVector y = FloatVector.broadcast(SPECIES, factors[1]);
        FloatVector a = y, b = y, c = y, d = y, e = y, f = y, g = y, h = y, i = y, j = y;
        for (int step = 0; step < STEPS; step++) {
            a = a.fma(x, y);
            b = b.fma(x, y);
            c = c.fma(x, y);
            d = d.fma(x, y);
            e = e.fma(x, y);
            f = f.fma(x, y);
            g = g.fma(x, y);
            h = h.fma(x, y);
            i = i.fma(x, y);
            j = j.fma(x, y);
        }
        return a.add(b).add(c).add(d).add(e).add(f).add(g).add(h).add(i).add(j).lane(0);
    }

    /** The same on two threads, each in that time. */
    @Benchmark
    @Threads(2)
    public float fmaPeak2() {
        return fmaPeak();
    }

    /** A plain sum over 256 MiB. */
    @Benchmark
    public float readBandwidth() {
        int lanes = SPECIES.length();
        FloatVector a = FloatVector.zero(SPECIES), b = a, c = a, d = a;
        for (int at = 0; at < FLOATS; at += 4 * lanes) {
            a = a.add(FloatVector.fromArray(SPECIES, memory, at));
            b = b.add(FloatVector.fromArray(SPECIES, memory, at + lanes));
            c = c.add(FloatVector.fromArray(SPECIES, memory, at + 2 * lanes));
            d = d.add(FloatVector.fromArray(SPECIES, memory, at + 3 * lanes));
        }
        return a.add(b).add(c).add(d).lane(0);
    }

    /** The same on two threads, each over memory of its own. */
    @Benchmark
    @Threads(2)
    public float readBandwidth2() {
        return readBandwidth();
    }
}

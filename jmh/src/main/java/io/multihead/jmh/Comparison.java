package io.multihead.jmh;

import io.multihead.compute.Compute;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** How every impl of a benchmark is timed, and the call that is timed. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
        value = 5,
        jvmArgs = {"--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"})
public abstract class Comparison {
    /** Threads and scratch of this library. */
    Compute cpu;

    /** What is timed. */
    Runnable call;

    /** Makes the call and runs it once, so that its result can be compared. */
    final void load(String impl, Peer.Maker maker) {
        call = Peer.load(impl, maker);
        call.run();
    }

    @TearDown
    public void close() {
        cpu.close();
    }
}

package io.multihead.jmh.bench;

import io.multihead.compute.Compute;
import io.multihead.jmh.peer.Peer;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
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

    /** The timed code. */
    Runnable call;

    /** Makes the call and runs it once, so that its result can be compared. */
    final void load(String impl, Peer.Maker maker) {
        call = Peer.load(impl, maker);
        call.run();
    }

    /** Returns the least that one call has to do with the parameters of this object, which need not be set up. */
    public Work work() {
        return Work.UNKNOWN;
    }

    /**
     * Returns the work of a benchmark.
     *
     * @param benchmark name of its class; the work of one that is no comparison, or is not here any more, is unknown
     * @param parameters values of its parameters, of which those that it does not have are ignored
     */
    public static Work work(String benchmark, Map<String, String> parameters) {
        try {
            Object object = Class.forName(benchmark).getDeclaredConstructor().newInstance();
            if (!(object instanceof Comparison comparison)) {
                return Work.UNKNOWN;
            }
            for (Field field : object.getClass().getFields()) {
                if (field.isAnnotationPresent(Param.class) && parameters.containsKey(field.getName())) {
                    field.set(comparison, value(field.getType(), parameters.get(field.getName())));
                }
            }
            return comparison.work();
        } catch (ReflectiveOperationException e) {
            return Work.UNKNOWN;
        }
    }

    private static Object value(Class<?> type, String value) {
        return type == int.class
                ? (Object) Integer.valueOf(value)
                : type == boolean.class ? (Object) Boolean.valueOf(value) : value;
    }

    @TearDown
    public void close() {
        cpu.close();
    }
}

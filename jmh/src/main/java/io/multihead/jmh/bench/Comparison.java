package io.multihead.jmh.bench;

import io.multihead.compute.Compute;
import io.multihead.jmh.peer.Peer;
import java.lang.reflect.Field;
import java.util.Map;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.TearDown;

/** How every impl of a benchmark is timed, and the call that is timed. */
public abstract class Comparison extends Timed {
    /** Threads and scratch of this library. */
    Compute cpu;

    /** The timed code. */
    Runnable call;

    /** Runs the call of the impl. */
    @Benchmark
    public void time() {
        call.run();
    }

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

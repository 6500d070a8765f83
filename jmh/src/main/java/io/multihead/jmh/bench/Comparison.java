package io.multihead.jmh.bench;

import io.multihead.compute.Compute;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Peer;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.TearDown;

/** The settings with which every impl of a benchmark is timed, and the timed call. */
public abstract class Comparison extends Timed {
    /** Threads and scratch of this library. */
    Compute cpu;

    Runnable call;

    private final List<AutoCloseable> kept = new ArrayList<>();

    @Benchmark
    public void time() {
        call.run();
    }

    @Setup
    public void setUp() throws Exception {
        cpu = Compute.threads(threads());
        open();
    }

    /** Creates the call. The threads have already been started. */
    abstract void open() throws Exception;

    int threads() {
        return 1;
    }

    /** Creates the call and runs it once, so that its result can be compared. */
    final void load(String impl, Peer.Maker maker) {
        call = Peer.load(impl, maker);
        call.run();
    }

    /** Creates a call that writes to given memory. */
    interface Writer {
        Runnable into(FloatBuffer output) throws Exception;
    }

    /** Creates the call of the impl. Its {@code length} numbers must equal the numbers of another call. */
    final void compare(String impl, int length, Writer another, Writer own, double tolerance) throws Exception {
        FloatBuffer expected = Data.zeros(length);
        FloatBuffer actual = Data.zeros(length);
        another.into(expected).run();
        load(impl, () -> own.into(actual));
        Data.requireClose(impl, expected, actual, tolerance);
    }

    static IllegalStateException unknown(String impl) {
        return Peer.unknown(impl);
    }

    static IllegalStateException absent(String impl, String reason) {
        return Peer.absent(impl, reason);
    }

    /** Returns the object, which is closed with this benchmark, before objects that were kept earlier. */
    final <T extends AutoCloseable> T kept(T closeable) {
        kept.add(closeable);
        return closeable;
    }

    /** Returns a new folder for files, which is deleted when this benchmark is closed. */
    final Path temporary(String name) throws IOException {
        Path folder = Files.createTempDirectory(name);
        kept.add(() -> {
            try (Stream<Path> files = Files.list(folder)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(folder);
        });
        return folder;
    }

    /** Returns the minimum work of one call with the parameters of this object, which need not be set up. */
    public Work work() {
        return Work.UNKNOWN;
    }

    /**
     * Returns the work of a benchmark.
     *
     * @param benchmark name of its class. The work is unknown if the class does not exist here or is not a comparison.
     * @param parameters values of its parameters. Unknown parameters are ignored.
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
    public void close() throws Exception {
        for (AutoCloseable each : kept.reversed()) {
            each.close();
        }
        cpu.close();
    }
}

package io.multihead.it.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Reads properties of executors, and ends executors. */
final class ExecutorProbe {
    private static final int KILLED = 137;

    private ExecutorProbe() {}

    /**
     * Returns the preferred vectors of this JVM, by reflection, since the module is not available to the compiler for
     * Java 17.
     */
    static String vectors() {
        try {
            return Class.forName("jdk.incubator.vector.FloatVector")
                    .getField("SPECIES_PREFERRED")
                    .get(null)
                    .toString();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the vectors of all executors that answer. */
    static Set<String> vectors(SparkSession spark) {
        JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
        return new TreeSet<>(context.parallelize(List.of(1, 2, 3, 4, 5, 6, 7, 8), 8)
                .map(i -> vectors())
                .collect());
    }

    /**
     * Returns rows unchanged, and halts the JVM during the first task that does not find the marker.
     */
    static MapPartitionsFunction<Row, Row> halting(String marker, int after) {
        long driver = ProcessHandle.current().pid();
        return rows -> new Iterator<>() {
            private int passed;

            @Override
            public boolean hasNext() {
                return rows.hasNext();
            }

            @Override
            public Row next() {
                if (++passed == after) {
                    haltOnce(marker, driver);
                }
                return rows.next();
            }
        };
    }

    /** Halts the JVM, unless the marker exists or this is the driver. */
    static void haltOnce(String marker, long driver) {
        if (ProcessHandle.current().pid() != driver && create(marker)) {
            Runtime.getRuntime().halt(KILLED);
        }
    }

    private static boolean create(String marker) {
        try {
            Files.createFile(Path.of(marker));
            return true;
        } catch (FileAlreadyExistsException before) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

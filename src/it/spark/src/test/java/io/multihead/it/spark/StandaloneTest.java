package io.multihead.it.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.io.IOException;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** A standalone master and worker, and two executors with half the vector width of the driver. */
class StandaloneTest extends ClusterContract {
    private static final String VECTORS = ExecutorProbe.vectors();
    private static final boolean WIDE = VECTORS.contains("512");

    private Processes processes;

    @Override
    SparkSession start(SparkSession.Builder session) throws IOException {
        processes = new Processes(temporary);
        return session.master(processes.master())
                .config("spark.executor.cores", "1")
                .config("spark.executor.memory", "768m")
                .config(
                        "spark.executor.extraJavaOptions",
                        SparkHome.TEMPORARY + (WIDE ? " -XX:UseAVX=2" : " -XX:MaxVectorSize=16"))
                .getOrCreate();
    }

    @Override
    @AfterAll
    void stop() {
        try {
            super.stop();
        } finally {
            if (processes != null) {
                processes.close();
            }
        }
    }

    @Test
    void executorsHaveNarrowerVectorsThanTheDriver() {
        Set<String> vectors = ExecutorProbe.vectors(spark);
        assertEquals(1, vectors.size(), vectors::toString);
        assertNotEquals(Set.of(VECTORS), vectors);
    }
}

package io.multihead.it.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;

/** Two executors of one core each, with Spark's JVM flags. */
class LocalClusterTest extends ClusterContract {
    @Override
    SparkSession start(SparkSession.Builder session) {
        return session.master("local-cluster[2,1,1024]").getOrCreate();
    }

    @Test
    void executorsHaveTheVectorModuleWithoutAnyFlag() {
        assertEquals(Set.of(ExecutorProbe.vectors()), ExecutorProbe.vectors(spark));
    }
}

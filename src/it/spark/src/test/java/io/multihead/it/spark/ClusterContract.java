package io.multihead.it.spark;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;

/** Further properties of clusters with executors in separate processes. */
abstract class ClusterContract extends GenerationContract {
    @Test
    void workOfAKilledExecutorIsDoneAgainAndNothingIsLostOrDoubled() {
        Path marker = temporary.resolve("killed");
        Dataset<Row> texts = spark.read().parquet(path("texts")).repartition(12);
        Dataset<Row> vectors = embedded(texts)
                .mapPartitions(
                        ExecutorProbe.halting(marker.toString(), 400),
                        Encoders.row(texts.schema().add("embedding", SparkEmbeddings.VECTOR, true)));
        String out = path("vectors-killed");
        vectors.write().parquet(out);
        assertTrue(Files.exists(marker), "no executor was killed");
        assertBits(expected, spark.read().parquet(out).collectAsList());
    }

    @Test
    void textsOfAKilledExecutorAreGeneratedAgain() {
        Path marker = temporary.resolve("killed-generation");
        Dataset<Row> rows = generated(prompts().repartition(4), Generation.DEFAULT.withTokens(12, 100));
        Dataset<Row> texts =
                rows.mapPartitions(ExecutorProbe.halting(marker.toString(), 5), Encoders.row(rows.schema()));
        String out = path("texts-killed");
        texts.write().parquet(out);
        assertTrue(Files.exists(marker), "no executor was killed");
        assertTexts(Generation.DEFAULT.withTokens(12, 100), spark.read().parquet(out));
    }

    @Test
    void shardsOfAKilledExecutorAreAttendedAgain() {
        String marker = temporary.resolve("killed-attention").toString();
        long driver = ProcessHandle.current().pid();
        JavaRDD<KeyValueShard> shards = shards(40, 500, 8).map(shard -> {
            ExecutorProbe.haltOnce(marker, driver);
            return shard;
        });
        PartialAttention actual = ShardedAttention.attend(shards, 40, QUERY);
        assertTrue(Files.exists(Path.of(marker)), "no executor was killed");
        assertSameBits(onTheDriver(40, 500), actual);
    }
}

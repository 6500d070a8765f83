package io.multihead.it.spark;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** Executors with a Java version that Spark supports and the library does not. */
class OlderJavaTest {
    private static final Path JDKS = Path.of("/usr/lib/jvm");

    @Test
    void executorOnAnOlderJavaReportsWhichItHasAndWhatToSet() throws IOException {
        Optional<Path> older = older();
        assumeTrue(older.isPresent(), "no Java 17 or 21 in " + JDKS);
        try (SparkSession spark = SparkHome.session()
                .master("local-cluster[1,1,1024]")
                .config("spark.executorEnv.JAVA_HOME", older.get().toString())
                .getOrCreate()) {
            String error = EmbeddingContract.failure(SparkEmbeddings.withEmbeddings(
                    spark.createDataFrame(
                            List.of(RowFactory.create("a")), new StructType().add("text", DataTypes.StringType)),
                    "text",
                    "embedding",
                    "/none"));
            assertTrue(error.contains("Java: "), error);
            assertTrue(error.contains("expected at least 25: set spark.executorEnv.JAVA_HOME"), error);
        }
    }

    private static Optional<Path> older() throws IOException {
        if (!Files.isDirectory(JDKS)) {
            return Optional.empty();
        }
        try (Stream<Path> homes = Files.list(JDKS)) {
            return homes.filter(home -> Files.isExecutable(home.resolve("bin/java")))
                    .filter(home -> home.getFileName().toString().matches(".*\\b(17|21)\\b.*"))
                    .findFirst();
        }
    }
}

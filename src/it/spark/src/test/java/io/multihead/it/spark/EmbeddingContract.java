package io.multihead.it.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Properties of embeddings in every kind of cluster. Each row has the bits that the driver computes for its text alone.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class EmbeddingContract {
    static final int TEXTS = 10_000;
    private static final StructType SCHEMA =
            new StructType().add("id", DataTypes.IntegerType).add("text", DataTypes.StringType);

    @TempDir
    static Path temporary;

    SparkSession spark;
    Path tiny;
    List<String> texts;
    /** The driver's vector of each text, computed alone. */
    float[][] expected;

    /** Starts the cluster. */
    abstract SparkSession start(SparkSession.Builder session) throws IOException;

    @BeforeAll
    void prepare() throws IOException {
        tiny = ModelFolders.tiny(temporary.resolve("tiny"));
        String archive = ModelFolders.zip(tiny, temporary.resolve("tiny.zip")) + "#packed";
        spark = start(SparkHome.session().config("spark.archives", archive));
        texts = texts(TEXTS);
        expected = alone(tiny, texts);
        rows(texts).repartition(7).write().parquet(path("texts"));
    }

    @AfterAll
    void stop() {
        if (spark != null) {
            spark.stop();
        }
    }

    String path(String name) {
        return temporary.resolve(name).toString();
    }

    /**
     * Returns random texts of 0 to 8 words, some of which are equal, and a few texts that are longer than the model's
     * 64 positions.
     */
    static List<String> texts(int count) {
        SplittableRandom random = new SplittableRandom(1);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int words = random.nextInt(100) == 0 ? 60 : random.nextInt(9);
            texts.add(random.ints(words, 0, 500)
                    .mapToObj(word -> Integer.toString(word + 10, 36).replaceAll("[0-9]", "x"))
                    .collect(Collectors.joining(" ")));
        }
        return texts;
    }

    static float[][] alone(Path folder, List<String> texts) throws IOException {
        try (Compute cpu = Compute.serial();
                SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            return texts.stream().map(encoder::embed).toArray(float[][]::new);
        }
    }

    Dataset<Row> rows(List<String> texts) {
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            rows.add(RowFactory.create(i, texts.get(i)));
        }
        return spark.createDataFrame(rows, SCHEMA);
    }

    /** Checks that each id occurs once, and that its vector has the expected bits. */
    static void assertBits(float[][] expected, List<Row> rows) {
        Set<Integer> seen = new HashSet<>();
        for (Row row : rows) {
            int id = row.<Integer>getAs("id");
            assertTrue(seen.add(id), () -> "row " + id + " twice");
            assertArrayEquals(expected[id], floats(row), () -> "row " + id);
        }
        assertEquals(expected.length, rows.size(), "rows");
    }

    private static float[] floats(Row row) {
        List<Float> list = row.getList(row.fieldIndex("embedding"));
        float[] floats = new float[list.size()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = list.get(i);
        }
        return floats;
    }

    Dataset<Row> embedded(Dataset<Row> rows) {
        return SparkEmbeddings.withEmbeddings(rows, "text", "embedding", tiny.toString());
    }

    @Test
    void parquetInAndOutHasTheBitsOfTheDriverForAnyPartitioning() {
        for (int partitions : new int[] {1, 5, 24}) {
            String out = path("vectors-" + partitions);
            embedded(spark.read().parquet(path("texts")).repartition(partitions))
                    .write()
                    .parquet(out);
            assertBits(expected, spark.read().parquet(out).collectAsList());
        }
    }

    @Test
    void functionOfSqlHasTheBitsOfTheColumn() {
        SparkEmbeddings.register(spark, "embed", tiny.toString());
        spark.read().parquet(path("texts")).createOrReplaceTempView("texts");
        assertBits(
                expected,
                spark.sql("select id, embed(text) as embedding from texts").collectAsList());
    }

    @Test
    void nullHasNoVectorAndRowsKeepTheirOrder() {
        List<String> some = new ArrayList<>(texts.subList(0, 100));
        some.set(0, null);
        some.set(50, null);
        some.set(99, null);
        List<Row> rows = embedded(rows(some).coalesce(1)).collectAsList();
        for (int i = 0; i < some.size(); i++) {
            assertEquals(i, rows.get(i).getInt(0));
            if (some.get(i) == null) {
                assertNull(rows.get(i).get(2));
            } else {
                assertArrayEquals(expected[i], floats(rows.get(i)));
            }
        }
        SparkEmbeddings.register(spark, "embed_or_null", tiny.toString());
        assertTrue(spark.sql("select embed_or_null(cast(null as string))")
                .collectAsList()
                .get(0)
                .isNullAt(0));
    }

    @Test
    void trainedModelHasTheBitsOfTheDriver() throws IOException {
        Path folder = ModelFolders.miniLm(temporary.resolve("minilm"));
        List<String> some = texts.subList(0, 200);
        Dataset<Row> vectors =
                SparkEmbeddings.withEmbeddings(rows(some).repartition(4), "text", "embedding", folder.toString());
        assertBits(alone(folder, some), vectors.collectAsList());
    }

    @Test
    void relativeFolderIsAnArchiveThatSparkDistributes() {
        List<String> some = texts.subList(0, 100);
        assertBits(
                Arrays.copyOf(expected, some.size()),
                SparkEmbeddings.withEmbeddings(rows(some), "text", "embedding", "packed")
                        .collectAsList());
    }

    @Test
    void wrongPathIsAnErrorThatNamesIt() {
        String error = failure(SparkEmbeddings.withEmbeddings(rows(texts.subList(0, 3)), "text", "embedding", "/none"));
        assertTrue(error.contains("folder: /none on "), error);
        assertTrue(error.contains("/none: nothing there; expected a model's folder"), error);
        assertTrue(error.contains("; get one by: hf download OWNER/NAME --local-dir /none"), error);
    }

    @Test
    void missingWeightsAreAnErrorThatNamesTheFile() throws IOException {
        Path folder = ModelFolders.tiny(temporary.resolve("unweighted"));
        Files.delete(folder.resolve("model.safetensors"));
        String error = failure(
                SparkEmbeddings.withEmbeddings(rows(texts.subList(0, 3)), "text", "embedding", folder.toString()));
        assertTrue(error.contains(folder + ": a folder with config.json"), error);
        assertTrue(error.contains("no model.safetensors"), error);
        assertTrue(error.contains("hf download"), error);
    }

    @Test
    void wrongColumnsAreErrorsThatNameThem() {
        Dataset<Row> rows = rows(List.of("a"));
        for (List<String> wrong : List.of(
                List.of("txt", "embedding", "text: txt; expected one of the columns [id, text]"),
                List.of("id", "embedding", "text: column id of type int; expected string"),
                List.of("text", "id", "vector: id; expected none of the columns [id, text]"))) {
            assertEquals(
                    wrong.get(2),
                    assertThrows(
                                    IllegalArgumentException.class,
                                    () -> SparkEmbeddings.withEmbeddings(
                                            rows, wrong.get(0), wrong.get(1), tiny.toString()))
                            .getMessage());
        }
    }

    /** Returns the messages of a failing job and of its causes. */
    static String failure(Dataset<Row> rows) {
        Exception failed = assertThrows(Exception.class, rows::collectAsList);
        return Stream.<Throwable>iterate(failed, error -> error != null, Throwable::getCause)
                .map(Throwable::toString)
                .collect(Collectors.joining("\n"));
    }
}

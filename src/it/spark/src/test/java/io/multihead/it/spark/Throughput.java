package io.multihead.it.spark;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Measures texts per second of two executors with a core each, and of one process with two threads, without set-up. It
 * needs a quiet machine with at least two cores.
 */
final class Throughput {
    private static final int THREADS = 2;
    private static final int PASSES = 5;
    /** More partitions than cores, so that executors finish at about the same time. */
    private static final int PARTITIONS = 4 * THREADS;

    private Throughput() {}

    private interface Pass {
        void run() throws Exception;
    }

    /**
     * Prints the figures.
     *
     * @param args number of texts
     */
    public static void main(String[] args) throws Exception {
        List<String> texts = texts(Integer.parseInt(args[0]));
        Path folder = ModelFolders.miniLm(Path.of("target", "minilm").toAbsolutePath());
        double process = process(folder, texts);
        double spark = spark(folder, texts);
        System.out.printf(
                "%d texts: one process with %d threads %.1f texts/s, %d executors %.1f texts/s, ratio %.3f%n",
                texts.size(), THREADS, process, THREADS, spark, spark / process);
    }

    /** Returns texts of 4 to 80 words. Most words have one token. */
    private static List<String> texts(int count) {
        String[] words =
                ("the of and to in is was for on are as with by at from his they be this have not had market lost ground "
                                + "cat sleeps water over under house people city river music system energy history science")
                        .split(" ");
        SplittableRandom random = new SplittableRandom(2);
        return IntStream.range(0, count)
                .mapToObj(i -> random.ints(random.nextInt(4, 81), 0, words.length)
                        .mapToObj(word -> words[word])
                        .collect(Collectors.joining(" ")))
                .toList();
    }

    private static double process(Path folder, List<String> texts) throws Exception {
        try (Compute cpu = Compute.threads(THREADS);
                SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            return best(texts.size(), () -> encoder.embed(texts));
        }
    }

    private static double spark(Path folder, List<String> texts) throws Exception {
        try (SparkSession spark = SparkHome.session()
                .master("local-cluster[" + THREADS + ",1,1024]")
                .getOrCreate()) {
            List<Row> rows = new ArrayList<>();
            texts.forEach(text -> rows.add(RowFactory.create(text)));
            Dataset<Row> partitioned = spark.createDataFrame(rows, new StructType().add("text", DataTypes.StringType))
                    .repartition(PARTITIONS)
                    .cache();
            partitioned.count();
            return best(texts.size(), () -> SparkEmbeddings.withEmbeddings(
                            partitioned, "text", "embedding", folder.toString())
                    .write()
                    .format("noop")
                    .mode("overwrite")
                    .save());
        }
    }

    /** Returns the rate of the fastest pass, without the first pass, which loads and compiles. */
    private static double best(int texts, Pass pass) throws Exception {
        pass.run();
        double best = 0;
        for (int i = 0; i < PASSES; i++) {
            long start = System.nanoTime();
            pass.run();
            best = Math.max(best, texts / ((System.nanoTime() - start) * 1e-9));
        }
        return best;
    }
}

package io.multihead.it.spark;

import java.io.IOException;
import org.apache.spark.sql.SparkSession;

/** Reads Parquet, adds a column of embeddings, and writes Parquet. */
public final class EmbedParquet {
    private EmbedParquet() {}

    /**
     * Runs the job.
     *
     * @param args input, column of texts, model folder, output
     * @throws IOException if the session cannot be closed
     */
    public static void main(String[] args) throws IOException {
        if (args.length != 4) {
            throw new IllegalArgumentException(
                    "args: " + args.length + " arguments; expected INPUT TEXT_COLUMN MODEL_FOLDER OUTPUT");
        }
        try (SparkSession spark = SparkSession.builder().appName("embeddings").getOrCreate()) {
            SparkEmbeddings.withEmbeddings(spark.read().parquet(args[0]), args[1], "embedding", args[2])
                    .write()
                    .parquet(args[3]);
        }
    }
}

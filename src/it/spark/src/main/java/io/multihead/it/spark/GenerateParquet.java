package io.multihead.it.spark;

import java.io.IOException;
import org.apache.spark.sql.SparkSession;

/** Reads Parquet, adds a column of generated texts, and writes Parquet. */
public final class GenerateParquet {
    private GenerateParquet() {}

    /**
     * Runs the job.
     *
     * @param args input, column of prompts, model, output
     * @throws IOException if the session cannot be closed
     */
    public static void main(String[] args) throws IOException {
        if (args.length != 4) {
            throw new IllegalArgumentException(
                    "args: " + args.length + " arguments; expected INPUT PROMPT_COLUMN MODEL OUTPUT");
        }
        try (SparkSession spark = SparkSession.builder().appName("generation").getOrCreate()) {
            SparkGeneration.withTexts(spark.read().parquet(args[0]), args[1], "generated", args[2], Generation.DEFAULT)
                    .write()
                    .parquet(args[3]);
        }
    }
}

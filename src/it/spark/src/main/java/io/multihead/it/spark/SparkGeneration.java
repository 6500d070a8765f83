package io.multihead.it.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Texts from a language model as a column. A prompt has one text, also with a temperature. It does not depend on the
 * partitioning, the batch, the number of runs of a task, and the vector width of the executor's processor.
 */
public final class SparkGeneration {
    private SparkGeneration() {}

    /**
     * Adds a column of generated texts. Each task generates its prompts in batches, on its own thread, with weights that all tasks of an
     * executor share.
     *
     * @param rows any rows
     * @param text a column of prompts. The text of null, and of a prompt without tokens, is null.
     * @param generated the new column, of strings
     * @param model the model's file or folder, as of {@link SharedModels#get}
     * @param generation the options
     * @return the rows in their order, with an additional column
     * @throws IllegalArgumentException if the first column does not exist or is not a string, or the second exists
     */
    public static Dataset<Row> withTexts(
            Dataset<Row> rows, String text, String generated, String model, Generation generation) {
        StructType schema = rows.schema();
        int column = RowValues.textColumn(schema, text, generated, "generated");
        return rows.mapPartitions(
                new GenerateRows(model, column, generation),
                Encoders.row(schema.add(generated, DataTypes.StringType, true)));
    }
}

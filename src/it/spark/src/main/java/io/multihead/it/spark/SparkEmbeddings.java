package io.multihead.it.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Sentence embeddings as a column and as a function of SQL. A text has one vector, whose bits do not depend on the partitioning,
 * on the batch, on how often a task was run, or on the vector width of the executor's processor.
 */
public final class SparkEmbeddings {
    /** The type of a vector: {@code array<float>} without nulls. */
    public static final DataType VECTOR = DataTypes.createArrayType(DataTypes.FloatType, false);

    private SparkEmbeddings() {}

    /**
     * Adds a column of embeddings. Texts of a partition are packed into batches by tokens, so this is the faster of the two.
     *
     * @param rows any rows
     * @param text a column of strings; null has the vector null
     * @param vector the new column, of type {@link #VECTOR}
     * @param folder the model's folder, as of {@link SharedEncoders#get}
     * @return the rows with one more column, in their order
     * @throws IllegalArgumentException if the first column does not exist or is not a string, or the second exists
     */
    public static Dataset<Row> withEmbeddings(Dataset<Row> rows, String text, String vector, String folder) {
        StructType schema = rows.schema();
        int column = RowValues.textColumn(schema, text, vector, "vector");
        return rows.mapPartitions(new EmbedRows(folder, column), Encoders.row(schema.add(vector, VECTOR, true)));
    }

    /**
     * Registers a function of SQL from a string to its embedding. It computes one text at a time; a column of
     * {@link #withEmbeddings} has the same bits.
     *
     * @param spark the session
     * @param name the function's name
     * @param folder the model's folder, as of {@link SharedEncoders#get}
     */
    public static void register(SparkSession spark, String name, String folder) {
        UDF1<String, float[]> embed =
                text -> text == null ? null : SharedEncoders.get(folder).embed(text);
        spark.udf().register(name, embed, VECTOR);
    }
}

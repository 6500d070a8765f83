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
 * Sentence embeddings as a column and as an SQL function. A text has one vector. Its bits do not depend on the
 * partitioning, the batch, the number of runs of a task, and the vector width of the executor's processor.
 */
public final class SparkEmbeddings {
    /** The type of a vector: {@code array<float>} without nulls. */
    public static final DataType VECTOR = DataTypes.createArrayType(DataTypes.FloatType, false);

    private SparkEmbeddings() {}

    /**
     * Adds a column of embeddings. Texts of a partition are packed into batches by tokens, so that this is faster than
     * {@link #register}.
     *
     * @param rows any rows
     * @param text a column of strings. The vector of null is null.
     * @param vector the new column, of type {@link #VECTOR}
     * @param folder the model's folder, as of {@link SharedEncoders#get}
     * @return the rows in their order, with an additional column
     * @throws IllegalArgumentException if the first column does not exist or is not a string, or the second exists
     */
    public static Dataset<Row> withEmbeddings(Dataset<Row> rows, String text, String vector, String folder) {
        StructType schema = rows.schema();
        int column = RowValues.textColumn(schema, text, vector, "vector");
        return rows.mapPartitions(new EmbedRows(folder, column), Encoders.row(schema.add(vector, VECTOR, true)));
    }

    /**
     * Registers an SQL function from a string to its embedding. It computes one text at a time, with the same bits as
     * {@link #withEmbeddings}.
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

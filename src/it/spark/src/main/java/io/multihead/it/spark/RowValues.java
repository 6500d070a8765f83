package io.multihead.it.spark;

import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Shared code of functions that add a column to rows. */
final class RowValues {
    private RowValues() {}

    /**
     * Returns the index of a column of texts, or fails unless it exists and the new column does not.
     *
     * @param text the column
     * @param added the new column
     * @param name of the argument that names the column of texts
     */
    static int textColumn(StructType schema, String text, String added, String name) {
        List<String> columns = List.of(schema.fieldNames());
        if (!columns.contains(text)) {
            throw new IllegalArgumentException("text: " + text + "; expected one of the columns " + columns);
        }
        if (columns.contains(added)) {
            throw new IllegalArgumentException(name + ": " + added + "; expected none of the columns " + columns);
        }
        int column = schema.fieldIndex(text);
        DataType type = schema.apply(column).dataType();
        if (!type.equals(DataTypes.StringType)) {
            throw new IllegalArgumentException(
                    "text: column " + text + " of type " + type.simpleString() + "; expected string");
        }
        return column;
    }

    /** Returns a row with one more value. */
    static Row append(Row row, Object value) {
        Object[] values = new Object[row.length() + 1];
        for (int i = 0; i < row.length(); i++) {
            values[i] = row.get(i);
        }
        values[row.length()] = value;
        return RowFactory.create(values);
    }
}

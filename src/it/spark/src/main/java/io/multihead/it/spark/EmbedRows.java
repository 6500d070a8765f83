package io.multihead.it.spark;

import io.multihead.encoder.TextEmbedding;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Queue;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;

/** Appends the embedding of one column to the rows of a partition. It holds at most one batch of rows. */
final class EmbedRows implements MapPartitionsFunction<Row, Row> {
    private static final long serialVersionUID = 1;

    private final String folder;
    private final int column;

    EmbedRows(String folder, int column) {
        this.folder = folder;
        this.column = column;
    }

    @Override
    public Iterator<Row> call(Iterator<Row> rows) {
        Texts texts = new Texts(rows, column);
        Iterator<TextEmbedding> vectors = SharedEncoders.get(folder).embed(texts);
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return vectors.hasNext();
            }

            @Override
            public Row next() {
                float[] vector = vectors.next().vector();
                Row row = texts.read.remove();
                return RowValues.append(row, row.isNullAt(column) ? null : vector);
            }
        };
    }

    /** The texts of rows, which are kept until their vectors are computed. */
    private static final class Texts implements Iterator<String> {
        private final Queue<Row> read = new ArrayDeque<>();
        private final Iterator<Row> rows;
        private final int column;

        Texts(Iterator<Row> rows, int column) {
            this.rows = rows;
            this.column = column;
        }

        @Override
        public boolean hasNext() {
            return rows.hasNext();
        }

        @Override
        public String next() {
            Row row = rows.next();
            read.add(row);
            // null is an empty text, which takes two tokens and keeps rows and vectors aligned
            return row.isNullAt(column) ? "" : row.getString(column);
        }
    }
}

package io.multihead.model;

import io.multihead.internal.base.Checks;

/**
 * Separate embeddings for each layer (Gemma 3n and 4): for every token {@code layers} rows of {@code dim} elements, {@code
 * (norm(projection(embedding)) + table[id]) / sqrt(2)}. A {@link LayerInput} reads the row of its layer. Immutable and thread-safe.
 */
public final class LayerEmbeddings {
    private final EmbeddingTables table;
    private final PackedLinear projection;
    private final Norm norm;

    private LayerEmbeddings(EmbeddingTables table, PackedLinear projection, Norm norm) {
        this.table = table;
        this.projection = projection;
        this.norm = norm;
    }

    /**
     * {@return embeddings for each layer}
     *
     * @param table {@code [vocabulary, layers dim]}, with its scale
     * @param projection the projection of a model's embedding, with {@code layers dim} outputs and its scale
     * @param norm the norm of each row of a layer, with {@code dim} elements
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static LayerEmbeddings of(EmbeddingTables table, PackedLinear projection, Norm norm) {
        int width = Checks.notNull(table, "table").dim();
        if (width % Checks.notNull(norm, "norm").dim() != 0) {
            throw Checks.fail("table", width + " elements", "expected a multiple of " + norm.dim());
        }
        if (Checks.notNull(projection, "projection").outputs() != width) {
            throw Checks.fail("projection", projection.outputs() + " outputs", "expected " + width);
        }
        return new LayerEmbeddings(table, projection, norm);
    }

    /** {@return the number of layers} */
    public int layers() {
        return table.dim() / norm.dim();
    }

    /** {@return the number of elements of one layer's row} */
    public int dim() {
        return norm.dim();
    }

    EmbeddingTables table() {
        return table;
    }

    PackedLinear projection() {
        return projection;
    }

    Norm norm() {
        return norm;
    }

    /** Returns the number of elements of a token. */
    int width() {
        return table.dim();
    }
}

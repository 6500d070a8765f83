package io.multihead.model;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The tables whose rows are added up for each token, read in place: words, and for BERT types and positions; and the normalisation of the
 * sum, if there is one. Immutable and thread-safe; the tensors are shared and must stay open and unchanged.
 */
public final class EmbeddingTables {
    private final Tensor words;
    private final float scale;
    private final @Nullable Tensor types;
    private final @Nullable Tensor positions;
    private final @Nullable Norm norm;

    private EmbeddingTables(
            Tensor words, float scale, @Nullable Tensor types, @Nullable Tensor positions, @Nullable Norm norm) {
        this.words = words;
        this.scale = scale;
        this.types = types;
        this.positions = positions;
        this.norm = norm;
    }

    /**
     * Returns embeddings of words alone.
     *
     * @param words {@code [vocabulary, dim]}, any element type and strides
     * @return the embeddings
     * @throws IllegalArgumentException if the shape is another
     */
    public static EmbeddingTables of(Tensor words) {
        if (Checks.notNull(words, "words").rank() != 2 || words.dim(0) < 1 || words.dim(1) < 1) {
            throw Checks.fail("words", "shape " + words.shape(), "expected [vocabulary, dim]");
        }
        Checks.fitsInt(words.dim(0), "vocabulary");
        Checks.fitsInt(words.dim(1), "dim");
        return new EmbeddingTables(words, 1f, null, null, null);
    }

    /**
     * {@return these embeddings with a factor of the word's row, as Gemma's square root of dim}
     *
     * @param newScale the factor, rounded to f32
     */
    public EmbeddingTables withScale(double newScale) {
        return new EmbeddingTables(words, (float) newScale, types, positions, norm);
    }

    /**
     * Returns these embeddings with a table of token types, of which the first is added.
     *
     * @param newTypes {@code [types, dim]}
     * @return the changed embeddings
     * @throws IllegalArgumentException if the shape is another
     */
    public EmbeddingTables withTypes(Tensor newTypes) {
        return new EmbeddingTables(words, scale, requireRows(newTypes, "types"), positions, norm);
    }

    /**
     * Returns these embeddings with a table of positions, of which the row of a token's index in its sequence is added.
     *
     * @param newPositions {@code [positions, dim]}
     * @return the changed embeddings
     * @throws IllegalArgumentException if the shape is another
     */
    public EmbeddingTables withPositions(Tensor newPositions) {
        return new EmbeddingTables(words, scale, types, requireRows(newPositions, "positions"), norm);
    }

    /**
     * Returns these embeddings with a normalisation of the sum.
     *
     * @param newNorm of dim elements
     * @return the changed embeddings
     * @throws IllegalArgumentException if it has another number of elements
     */
    public EmbeddingTables withNorm(Norm newNorm) {
        if (Checks.notNull(newNorm, "norm").dim() != dim()) {
            throw Checks.fail("norm", newNorm.dim() + " elements", "expected " + dim() + ", as of words");
        }
        return new EmbeddingTables(words, scale, types, positions, newNorm);
    }

    private Tensor requireRows(Tensor table, String argument) {
        if (Checks.notNull(table, argument).rank() != 2 || table.dim(0) < 1 || table.dim(1) != words.dim(1)) {
            throw Checks.fail(argument, "shape " + table.shape(), "expected at least one row of " + words.dim(1));
        }
        return table;
    }

    /**
     * {@return the number of words}
     */
    public int vocabulary() {
        return (int) words.dim(0);
    }

    /**
     * {@return the elements of a row}
     */
    public int dim() {
        return (int) words.dim(1);
    }

    Tensor words() {
        return words;
    }

    float scale() {
        return scale;
    }

    @Nullable
    Tensor types() {
        return types;
    }

    @Nullable
    Tensor positions() {
        return positions;
    }

    @Nullable
    Norm norm() {
        return norm;
    }

    /** Returns how many positions there are. */
    long maxPositions() {
        return positions == null ? Long.MAX_VALUE : positions.dim(0);
    }
}

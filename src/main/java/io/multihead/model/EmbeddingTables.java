package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The tables whose rows are added up for each token, read in place: words and, for BERT, types and positions. This class also holds the
 * normalization of the sum, if there is one. Immutable and thread-safe; the memory of the tables is shared and must stay open and unchanged.
 */
public final class EmbeddingTables {
    private final Words words;
    private final float scale;
    private final @Nullable Tensor types;
    private final @Nullable Tensor positions;
    private final @Nullable Norm norm;

    /** The word embedding table, as numbers or as quantized blocks. */
    private record Words(@Nullable Tensor numbers, @Nullable BlockTensor blocks, int count, int dim) {
        void read(Packer packer, int id, float[] row) {
            if (blocks == null) {
                EmbeddingTables.read(packer, Checks.notNull(numbers, "words"), id, dim, row);
            } else {
                blocks.dequantizeRow(id, row, 0);
                Arrays.fill(row, dim, Lanes.roundUp(dim, Lanes.PANEL), 0f);
            }
        }
    }

    private EmbeddingTables(
            Words words, float scale, @Nullable Tensor types, @Nullable Tensor positions, @Nullable Norm norm) {
        this.words = words;
        this.scale = scale;
        this.types = types;
        this.positions = positions;
        this.norm = norm;
    }

    /**
     * {@return embeddings of words only}
     *
     * @param words {@code [vocabulary, dim]}, any element type and strides
     * @throws IllegalArgumentException if the shape does not fit
     */
    public static EmbeddingTables of(Tensor words) {
        return of(Checks.notNull(words, "words"), null, words.shape());
    }

    /**
     * {@return embeddings of words only, whose rows are widened when they are read}
     *
     * @param words {@code [vocabulary, dim]}, quantized
     * @throws IllegalArgumentException if the shape does not fit
     */
    public static EmbeddingTables of(BlockTensor words) {
        return of(null, Checks.notNull(words, "words"), words.shape());
    }

    private static EmbeddingTables of(@Nullable Tensor numbers, @Nullable BlockTensor blocks, Shape shape) {
        if (shape.rank() != 2 || shape.dim(0) < 1 || shape.dim(1) < 1) {
            throw Checks.fail("words", "shape " + shape, "expected [vocabulary, dim]");
        }
        int count = Checks.fitsInt(shape.dim(0), "vocabulary");
        int dim = Checks.fitsInt(shape.dim(1), "dim");
        return new EmbeddingTables(new Words(numbers, blocks, count, dim), 1f, null, null, null);
    }

    /**
     * {@return these embeddings with a factor that multiplies the word's row, such as the square
     * root of dim in Gemma}
     *
     * @param newScale the factor, rounded to f32
     */
    public EmbeddingTables withScale(double newScale) {
        return new EmbeddingTables(words, (float) newScale, types, positions, norm);
    }

    /**
     * {@return these embeddings with a table of token types: the row of a token's type is added}
     *
     * @param newTypes {@code [types, dim]}
     * @throws IllegalArgumentException if the shape does not fit
     */
    public EmbeddingTables withTypes(Tensor newTypes) {
        return new EmbeddingTables(words, scale, requireRows(newTypes, "types"), positions, norm);
    }

    /**
     * {@return these embeddings with a table of positions: the row of a token's index in its sequence is added}
     *
     * @param newPositions {@code [positions, dim]}
     * @throws IllegalArgumentException if the shape does not fit
     */
    public EmbeddingTables withPositions(Tensor newPositions) {
        return new EmbeddingTables(words, scale, types, requireRows(newPositions, "positions"), norm);
    }

    /**
     * {@return these embeddings with a normalization of the sum}
     *
     * @param newNorm a norm of dim elements
     * @throws IllegalArgumentException if it has another number of elements
     */
    public EmbeddingTables withNorm(Norm newNorm) {
        if (Checks.notNull(newNorm, "norm").dim() != dim()) {
            throw Checks.fail("norm", newNorm.dim() + " elements", "expected " + dim() + ", as in words");
        }
        return new EmbeddingTables(words, scale, types, positions, newNorm);
    }

    private Tensor requireRows(Tensor table, String argument) {
        if (Checks.notNull(table, argument).rank() != 2 || table.dim(0) < 1 || table.dim(1) != dim()) {
            throw Checks.fail(argument, "shape " + table.shape(), "expected at least one row of " + dim());
        }
        return table;
    }

    /** {@return the number of words} */
    public int vocabulary() {
        return words.count;
    }

    /** {@return the number of elements of a row} */
    public int dim() {
        return words.dim;
    }

    /**
     * Computes the sum of a token's rows, before the norm. The order of the additions is the order in BERT's implementations, because the bits
     * depend on it.
     */
    void read(Packer packer, int id, int type, long position, float[] row, float[] second) {
        words.read(packer, id, row);
        int padded = Lanes.roundUp(dim(), Lanes.PANEL);
        if (scale != 1f) {
            RowOps.scale(row, 0, padded, scale);
        }
        add(packer, types, type, row, second, padded);
        add(packer, positions, position, row, second, padded);
    }

    private void add(Packer packer, @Nullable Tensor table, long index, float[] row, float[] second, int padded) {
        if (table != null) {
            read(packer, table, index, dim(), second);
            RowOps.add(row, 0, padded, second, 0);
        }
    }

    private static void read(Packer packer, Tensor table, long index, int dim, float[] row) {
        packer.read(table, Positions.of(table, index), 0, table.stride(1), 1, dim, row, 0, 0);
    }

    /** Fails unless all threads may read the tables. */
    void requireAccess(Compute cpu) {
        BlockTensor blocks = words.blocks;
        if (blocks != null) {
            Operation.execution(cpu).requireAccess(blocks.memory(), "words");
        }
        requireAccess(cpu, words.numbers, "words");
        requireAccess(cpu, types, "types");
        requireAccess(cpu, positions, "positions");
    }

    private static void requireAccess(Compute cpu, @Nullable Tensor table, String argument) {
        if (table != null) {
            TensorChecks.requireAccess(cpu, table, argument);
        }
    }

    @Nullable
    Norm norm() {
        return norm;
    }

    /** Returns the number of token types. */
    long types() {
        return types == null ? 1 : types.dim(0);
    }

    /** Returns the number of positions. */
    long maxPositions() {
        return positions == null ? Long.MAX_VALUE : positions.dim(0);
    }
}

package io.multihead.encoder;

import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.Map;

/**
 * The tables whose rows are added up for each token, read in place, and the normalisation of the sum.
 *
 * @param words one row for each token of the vocabulary
 * @param positions one row for each position in a sequence
 * @param types one row for each token type, of which the first is used
 * @param norm factor and addend of the normalisation
 */
record EmbeddingTables(Tensor words, Tensor positions, Tensor types, NormWeights norm) {
    static final String WORDS = "embeddings.word_embeddings.weight";
    static final String POSITIONS = "embeddings.position_embeddings.weight";
    static final String TYPES = "embeddings.token_type_embeddings.weight";
    private static final String NORM = "embeddings.LayerNorm";

    static EmbeddingTables take(Weights weights, BertConfig config) {
        int dim = config.dim();
        return new EmbeddingTables(
                weights.take(WORDS, config.vocabulary(), dim),
                weights.take(POSITIONS, config.positions(), dim),
                weights.take(TYPES, config.types(), dim),
                NormWeights.take(weights, NORM, dim));
    }

    /** Adds what {@link #take} takes. */
    void put(Map<String, Tensor> to) {
        to.put(WORDS, words);
        to.put(POSITIONS, positions);
        to.put(TYPES, types);
        norm.put(NORM, (int) words.dim(1), to);
    }

    /** Returns the bytes of the normalisation, and of tables that are on the Java heap. */
    long ownBytes() {
        return norm.bytes() + tables(false);
    }

    /** Returns the bytes of tables that are read from a mapped file. */
    long mappedBytes() {
        return tables(true);
    }

    private long tables(boolean mapped) {
        long bytes = 0;
        for (Tensor table : List.of(words, positions, types)) {
            bytes += table.memory().isMapped() == mapped
                    ? table.shape().elements() * table.dtype().bytes()
                    : 0;
        }
        return bytes;
    }
}

package io.multihead.encoder;

import io.multihead.encoder.BertLayer.NormWeights;
import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * The tables whose rows are added up for each token, read in place, and the normalisation of the sum.
 *
 * @param words one row for each token of the vocabulary
 * @param positions one row for each position in a sequence
 * @param types one row for each token type, of which the first is used
 * @param norm factor and addend of the normalisation
 */
record EmbeddingTables(Tensor words, Tensor positions, Tensor types, NormWeights norm) {
    static EmbeddingTables take(Weights weights, BertConfig config) {
        int dim = config.dim();
        return new EmbeddingTables(
                weights.take("embeddings.word_embeddings.weight", config.vocabulary(), dim),
                weights.take("embeddings.position_embeddings.weight", config.positions(), dim),
                weights.take("embeddings.token_type_embeddings.weight", config.types(), dim),
                NormWeights.take(weights, "embeddings.LayerNorm", dim));
    }

    /** Returns the bytes of the normalisation, and of tables that are on the Java heap. */
    long heapBytes() {
        return norm.bytes() + tables(false);
    }

    /** Returns the bytes of tables that are read from a mapped file. */
    long mappedBytes() {
        return tables(true);
    }

    private long tables(boolean mapped) {
        long bytes = 0;
        for (Tensor table : List.of(words, positions, types)) {
            bytes += table.memory().isNative() == mapped
                    ? table.shape().elements() * table.dtype().bytes()
                    : 0;
        }
        return bytes;
    }
}

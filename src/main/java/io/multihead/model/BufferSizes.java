package io.multihead.model;

/**
 * Sizes that a call needs for each token.
 *
 * @param dim elements of a state
 * @param scratch floats of a wide row
 * @param results whether there is a row for a part's result in addition to the row that it reads
 * @param layerWidth elements of the separate embeddings of layers; 0 for none
 */
record BufferSizes(int dim, int scratch, boolean results, int layerWidth) {
    /** Sizes without embeddings of layers. */
    BufferSizes(int dim, int scratch, boolean results) {
        this(dim, scratch, results, 0);
    }

    BufferSizes with(BufferSizes other) {
        return new BufferSizes(
                dim,
                Math.max(scratch, other.scratch),
                results || other.results,
                Math.max(layerWidth, other.layerWidth));
    }
}

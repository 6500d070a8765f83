package io.multihead.model;

/**
 * What a call needs for each token.
 *
 * @param dim elements of a state
 * @param scratch floats of a wide row
 * @param results whether there is a row for what a part makes beside the one that it reads
 * @param layerWidth elements of the embeddings that layers have of their own; 0 for none
 */
record BufferSizes(int dim, int scratch, boolean results, int layerWidth) {
    /** Sizes without embeddings of layers. */
    BufferSizes(int dim, int scratch, boolean results) {
        this(dim, scratch, results, 0);
    }

    /** Returns what both need. */
    BufferSizes with(BufferSizes other) {
        return new BufferSizes(
                dim,
                Math.max(scratch, other.scratch),
                results || other.results,
                Math.max(layerWidth, other.layerWidth));
    }
}

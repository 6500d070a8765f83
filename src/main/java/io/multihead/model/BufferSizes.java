package io.multihead.model;

/**
 * What a call needs for each token.
 *
 * @param dim elements of a state
 * @param scratch floats of a wide row
 * @param results whether there is a row for what a part makes beside the one that it reads
 */
record BufferSizes(int dim, int scratch, boolean results) {
    /** Returns what both need. */
    BufferSizes with(BufferSizes other) {
        return new BufferSizes(dim, Math.max(scratch, other.scratch), results || other.results);
    }
}

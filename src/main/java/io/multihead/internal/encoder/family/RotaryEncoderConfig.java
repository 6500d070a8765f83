package io.multihead.internal.encoder.family;

import io.multihead.internal.encoder.family.EncoderLimits.Named;

/** The configuration of a family whose queries and keys are rotated and whose feed-forward layers have a gate. */
public interface RotaryEncoderConfig extends EncoderConfig {
    /** The sizes of a model. */
    record Sizes(int dim, int layers, int heads, int inner, int vocabulary, int positions) {
        /**
         * Returns these sizes, or fails with the family's names of sizes unless heads can be rotated in pairs and the rows of a batch fit
         * in one array.
         */
        Sizes checked(String dimName, String innerName, String positionsName) {
            Named dims = new Named(dimName, dim);
            EncoderLimits.requirePairs(dims, heads);
            EncoderLimits.requireBatch(new Named(positionsName, positions), dims, new Named(innerName, inner), 2);
            return this;
        }
    }

    Sizes sizes();

    @Override
    default int dim() {
        return sizes().dim;
    }

    @Override
    default int layers() {
        return sizes().layers;
    }

    @Override
    default int heads() {
        return sizes().heads;
    }

    @Override
    default int vocabulary() {
        return sizes().vocabulary;
    }

    @Override
    default int positions() {
        return sizes().positions;
    }
}

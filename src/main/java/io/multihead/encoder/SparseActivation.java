package io.multihead.encoder;

/** The function of the largest logit of a token; only logits above 0 have a weight. */
enum SparseActivation {
    /** {@code log(1 + x)} (Formal et al. 2021, "SPLADE v2"). */
    RELU,
    /** {@code log(1 + log(1 + x))} (Shen et al. 2025, the sparse encoders of OpenSearch). */
    LOG1P_RELU;

    /**
     * Returns the tokens whose logits are above 0. The functions are increasing, so they may follow the maximum, and are computed once per
     * token.
     */
    SparseVector vector(float[] largest) {
        int size = 0;
        for (float logit : largest) {
            size += isKept(logit) ? 1 : 0;
        }
        int[] ids = new int[size];
        float[] weights = new float[size];
        int at = 0;
        for (int id = 0; id < largest.length; id++) {
            if (isKept(largest[id])) {
                ids[at] = id;
                weights[at++] = (float) of(largest[id]);
            }
        }
        return new SparseVector(ids, weights);
    }

    /** NaN is kept, so that it is visible. */
    private static boolean isKept(float logit) {
        return !(logit <= 0);
    }

    private double of(double logit) {
        // StrictMath, whose bits are the same on all processors
        double once = StrictMath.log1p(logit);
        return this == RELU ? once : StrictMath.log1p(once);
    }
}

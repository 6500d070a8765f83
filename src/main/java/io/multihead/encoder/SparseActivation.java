package io.multihead.encoder;

/** The function from the largest logit of a token to its weight. Only tokens with a logit above 0 have a weight. */
enum SparseActivation {
    /** {@code log(1 + x)} (Formal et al. 2021, "SPLADE v2"). */
    RELU,
    /** {@code log(1 + log(1 + x))} (Shen et al. 2025, the sparse encoders of OpenSearch). */
    LOG1P_RELU;

    /**
     * Returns the weights of the tokens whose logits are above 0. Both functions increase, so they are applied to the maximum, once for each
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

    /** Returns whether a logit has a weight. NaN has one, so that it is visible in the result. */
    private static boolean isKept(float logit) {
        return !(logit <= 0);
    }

    private double of(double logit) {
        // StrictMath returns the same bits on all processors
        double once = StrictMath.log1p(logit);
        return this == RELU ? once : StrictMath.log1p(once);
    }
}

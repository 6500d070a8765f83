package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import java.util.Arrays;

/**
 * Weights of some tokens of a vocabulary; all other weights are 0. The tokens are words of a text and related words. Immutable and thread-safe.
 */
public final class SparseVector {
    private final int[] ids;
    private final float[] weights;

    SparseVector(int[] ids, float[] weights) {
        this.ids = ids;
        this.weights = weights;
    }

    /** {@return the number of tokens that have a weight} */
    public int size() {
        return ids.length;
    }

    /** {@return the tokens that have a weight, in ascending order; a copy} */
    public int[] ids() {
        return ids.clone();
    }

    /** {@return the weight of each of {@link #ids}, above 0; a copy} */
    public float[] weights() {
        return weights.clone();
    }

    /**
     * {@return the weight of a token, 0 if it has none}
     *
     * @param id the id of the token in the vocabulary
     */
    public float weight(int id) {
        int at = Arrays.binarySearch(ids, id);
        return at < 0 ? 0 : weights[at];
    }

    /**
     * {@return the sum of the products of the weights of tokens that both vectors have: the score of a passage for a query}
     *
     * @param other another vector of the same model
     */
    public double dot(SparseVector other) {
        Checks.notNull(other, "other");
        double sum = 0;
        int at = 0;
        for (int i = 0; i < ids.length; i++) {
            while (at < other.ids.length && other.ids[at] < ids[i]) {
                at++;
            }
            if (at < other.ids.length && other.ids[at] == ids[i]) {
                sum += (double) weights[i] * other.weights[at];
            }
        }
        return sum;
    }

    /** {@return the number of tokens that have a weight} */
    @Override
    public String toString() {
        return "SparseVector of " + ids.length + " tokens";
    }
}

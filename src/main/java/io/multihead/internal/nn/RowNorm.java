package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Norm;
import java.util.Arrays;

/**
 * The normalization of one row of scratch.
 *
 * @param length elements of a row
 * @param centered whether the mean is subtracted
 * @param epsilon added to the variance or mean square
 * @param weight the factors, and zeros to a multiple of 32
 * @param bias the addends, and zeros to a multiple of 32
 */
@SuppressWarnings("ArrayRecordComponent")
public record RowNorm(int length, boolean centered, double epsilon, float[] weight, float[] bias) {
    /**
     * Normalizes a row in place, and sets the elements after it to 0.
     *
     * @param row the row, with room for a multiple of 32
     * @param partial room for 32 floats
     */
    public void apply(float[] row, float[] partial) {
        int padded = Lanes.roundUp(length, PANEL);
        Arrays.fill(row, length, padded, 0f);
        float factor = Norm.standardize(row, length, centered, epsilon, partial);
        Norm.affine(row, padded, factor, weight, bias);
    }
}

package io.multihead.nn;

import io.multihead.internal.Checks;
import io.multihead.tensor.Shape;

/**
 * Sizes of what goes in and out.
 *
 * @param embedDim features of a query
 * @param keyInputDim features of a key before projection
 * @param valueInputDim features of a value before projection
 * @param outputShape the axes that replace the features in the output
 */
public record LayerWidths(long embedDim, long keyInputDim, long valueInputDim, Shape outputShape) {
    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if one is below 1 or the output shape has no axis
     */
    public LayerWidths {
        Checks.atLeast(embedDim, 1, "embedDim");
        Checks.atLeast(keyInputDim, 1, "keyInputDim");
        Checks.atLeast(valueInputDim, 1, "valueInputDim");
        if (Checks.notNull(outputShape, "outputShape").rank() == 0 || outputShape.elements() == 0) {
            throw Checks.fail("outputShape", outputShape.toString(), "expected at least one axis, none of size 0");
        }
    }
}

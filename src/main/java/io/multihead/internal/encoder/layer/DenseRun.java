package io.multihead.internal.encoder.layer;

import io.multihead.compute.Compute;

/** The rows that one caller's dense layers read and write, reused from batch to batch. */
public final class DenseRun {
    private final DenseLayers dense;
    /** The pooled vector, and the result of each layer. */
    private final RowViews[] rows;

    public DenseRun(DenseLayers dense) {
        this.dense = dense;
        rows = new RowViews[dense.layers().size() + 1];
        rows[0] = new RowViews(dense.inputs());
        for (int i = 1; i < rows.length; i++) {
            rows[i] = new RowViews(dense.layers().get(i - 1).linear().outputs());
        }
    }

    /** Returns the array to which at most {@code count} pooled vectors are written consecutively. */
    public float[] input(int count) {
        rows[0].reserve(count);
        return rows[0].array();
    }

    /** Computes the layers on the first rows of the input, and returns the rows of the last layer. */
    public float[] forward(Compute cpu, int count) {
        for (int i = 1; i < rows.length; i++) {
            dense.layers().get(i - 1).forward(cpu, rows[i - 1], rows[i], count);
        }
        return rows[rows.length - 1].array();
    }
}

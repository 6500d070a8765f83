package io.multihead.internal.attention.keyvalue;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Scratch;

/**
 * The elements of V of one block that are infinite or NaN. They would contaminate rows that do not see their key, since {@code 0 * NaN} is
 * NaN. Therefore they are zeroed in the panels and added separately to exactly the rows that see their key. Belongs to one thread.
 */
public final class NonFiniteValues {
    private final Scratch memory;
    private final int[] keys = new int[AttentionBlocking.KEY_BLOCK];
    private final float[] row = new float[PANEL];
    private float[] values = new float[0];
    private int count;

    NonFiniteValues(Scratch memory) {
        this.memory = memory;
    }

    void clear() {
        count = 0;
    }

    /**
     * Moves non-finite elements out of panels {@code [width / 32][rows][32]}, in which zeros replace them.
     *
     * @param rows values in the panels
     * @param width elements of a value, rounded up to whole panels
     */
    void moveFrom(PanelMemory panels, int rows, int width) {
        values = memory.atLeast(values, AttentionBlocking.KEY_BLOCK * width);
        for (int k = 0; k < rows; k++) {
            boolean found = false;
            for (int d = 0; d < width; d += PANEL) {
                found |= moveRow(panels, (d / PANEL * rows + k) * PANEL, count * width + d);
            }
            if (found) {
                keys[count++] = k;
            }
        }
    }

    /** Moves the non-finite elements of one row of a panel, and returns whether there are any. */
    private boolean moveRow(PanelMemory panels, int at, int to) {
        boolean found = false;
        panels.loadRow(at, row);
        for (int lane = 0; lane < PANEL; lane++) {
            boolean finite = Float.isFinite(row[lane]);
            values[to + lane] = finite ? 0f : row[lane];
            row[lane] = finite ? row[lane] : 0f;
            found |= !finite;
        }
        if (found) {
            panels.storeRow(row, 0, PANEL, at);
        }
        return found;
    }

    public boolean any() {
        return count > 0;
    }

    /**
     * Adds the elements to an output row, for every key whose score is not minus infinity.
     *
     * @param at the score of the block's first key
     * @param visible number of scores
     * @param o0 the first element of the output row
     * @param width elements of an output row, rounded up to whole panels
     */
    public void addTo(float[] scores, int at, int visible, float[] output, int o0, int width) {
        for (int i = 0; i < count; i++) {
            if (keys[i] < visible && scores[at + keys[i]] != Float.NEGATIVE_INFINITY) {
                for (int d = 0; d < width; d++) {
                    output[o0 + d] += values[i * width + d];
                }
            }
        }
    }
}

package io.multihead.cache;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.PanelFormat;

/**
 * The layout of one token in a page: a key and a value for each head of each layer, in panels.
 *
 * @param layers number of layers
 * @param heads key/value heads
 * @param headDim elements of a key
 * @param valueDim elements of a value
 * @param format how their panels are stored
 */
record PageLayout(int layers, int heads, int headDim, int valueDim, PanelFormat format) {
    /**
     * Returns the elements of one token of one head: a key, in whole interleaved rows, a value, in whole panels, and as many as their scales
     * take.
     */
    long elements() {
        return format.rowsOf(headDim) + Math.ceilDiv(valueDim, (long) Lanes.PANEL) * Lanes.PANEL + scaleElements(1);
    }

    /** Returns the elements of the keys of one head in a page. */
    int keyElements(int pageTokens) {
        return pageTokens * format.rows(headDim);
    }

    /** Returns the elements of the values of one head in a page. */
    int valueElements(int pageTokens) {
        return pageTokens * Lanes.roundUp(valueDim, Lanes.PANEL);
    }

    /** Returns the elements that the scales of one head in a page take: one f32 for each key and each value. */
    int scaleElements(int pageTokens) {
        return format.isScaled() ? 2 * pageTokens * Float.BYTES / format.bytes() : 0;
    }

    /** Returns the number of heads of all layers. */
    int allHeads() {
        return layers * heads;
    }

    /** Returns the bytes of one token in all layers, scales included. */
    long bytesPerToken() {
        return elements() * format.bytes() * layers * heads;
    }
}

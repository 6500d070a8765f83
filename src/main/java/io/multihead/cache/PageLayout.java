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
 * @param elements the storage format of keys and values
 */
record PageLayout(int layers, int heads, int headDim, int valueDim, CacheFormat elements) {
    PanelFormat format() {
        return elements.panels();
    }

    int keyScales() {
        return elements.scalesOfKey(headDim);
    }

    /**
     * Returns the number of elements of one token of one head. It includes a key in whole interleaved rows, a value in whole panels, and
     * the space of their scales.
     */
    long tokenElements() {
        return format().rowsOf(headDim) + Math.ceilDiv(valueDim, (long) Lanes.PANEL) * Lanes.PANEL + scaleElements(1);
    }

    /** Returns the number of elements of the keys of one head in a page. */
    int keyElements(int pageTokens) {
        return pageTokens * format().rows(headDim);
    }

    /** Returns the number of elements of the values of one head in a page. */
    int valueElements(int pageTokens) {
        return pageTokens * Lanes.roundUp(valueDim, Lanes.PANEL);
    }

    /**
     * Returns the number of elements whose space the scales of one head in a page take: an f32 for each key, or block of a key, and for
     * each value.
     */
    int scaleElements(int pageTokens) {
        return keyScales() == 0 ? 0 : (keyScales() + 1) * pageTokens * Float.BYTES / format().bytes();
    }

    /** Returns the number of heads of all layers. */
    int allHeads() {
        return layers * heads;
    }

    /** Returns the bytes of one token in all layers, including scales. */
    long bytesPerToken() {
        return tokenElements() * format().bytes() * layers * heads;
    }
}

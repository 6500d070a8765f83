package io.multihead.internal.attention.keyvalue;

import io.multihead.internal.kernel.Int8Panels;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;

/**
 * The scales of a block's i8 keys, 256 for each block of 32 elements or for the whole key, followed by the scales of its values. They are
 * copied to an array, since kernels read single scales. Belongs to one thread.
 */
final class BlockScales {
    private final Scratch memory;
    private float[] scales = Panels.UNSCALED;
    private int ofKey;

    BlockScales(Scratch memory) {
        this.memory = memory;
    }

    /** Copies the scales of a span, whose first key has index {@code key} in the block. */
    void load(KeyValueSpan span, int key, int keys) {
        ofKey = span.keyScales();
        scales = memory.atLeast(scales, (ofKey + 1) * Int8Panels.SCALES_APART);
        for (int i = 0; i <= ofKey; i++) {
            int to = i * Int8Panels.SCALES_APART + key;
            span.panels().loadScales(span.scales() + i * keys, keys, scales, to);
        }
    }

    /** Returns the scales, with the scales of keys first. */
    float[] values() {
        return scales;
    }

    /** Returns the index of the first value's scale. */
    int ofValues() {
        return ofKey * Int8Panels.SCALES_APART;
    }

    /** Returns whether a key has a scale for each block of its elements. */
    boolean areBlocks() {
        return ofKey > 1;
    }
}

package io.multihead.internal.attention.keyvalue;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;

/**
 * The scales of a block's i8 keys and, 256 floats further, of its values: copied, since kernels read single scales, and so from an array.
 * Belongs to one thread.
 */
final class BlockScales {
    private final Scratch memory;
    private float[] scales = Panels.UNSCALED;

    BlockScales(Scratch memory) {
        this.memory = memory;
    }

    /** Copies the scales of a span, whose first key is number {@code key} of the block. */
    void load(KeyValueSpan span, int key, int keys) {
        scales = memory.atLeast(scales, 2 * AttentionBlocking.KEY_BLOCK);
        span.panels().loadScales(span.scales(), keys, scales, key);
        span.panels().loadScales(span.scales() + keys, keys, scales, AttentionBlocking.KEY_BLOCK + key);
    }

    /** Returns the scales, those of keys first. */
    float[] values() {
        return scales;
    }
}

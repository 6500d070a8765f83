package io.multihead.internal.attention.backward;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.base.Checks;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import org.jspecify.annotations.Nullable;

/** Buffers through which blocks are packed: two of 256 rows; and the thread's reader and writer of user memory. */
final class Staging {
    private static final float[] NONE = {};

    final float[] rows;
    final float[] other;
    /** Partial sums of a dot product. */
    final float[] partial = new float[PANEL];

    private @Nullable Packer packer;

    Staging(Scratch memory) {
        rows = memory.atLeast(NONE, AttentionBlocking.BACKWARD_QUERIES * ROW);
        other = memory.atLeast(NONE, AttentionBlocking.BACKWARD_QUERIES * ROW);
    }

    void bind(@Nullable Packer newPacker) {
        packer = newPacker;
    }

    Packer packer() {
        return Checks.notNull(packer, "packer");
    }
}

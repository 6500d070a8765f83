package io.multihead.internal.attention.backward;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.Blocking;
import io.multihead.internal.base.Checks;
import io.multihead.internal.layout.Packer;
import org.jspecify.annotations.Nullable;

/** Buffers through which blocks are packed: two of 256 rows; and the thread's reader and writer of user memory. */
final class Staging {
    final float[] rows = new float[Blocking.BACKWARD_QUERIES * ROW];
    final float[] other = new float[Blocking.BACKWARD_QUERIES * ROW];
    /** Partial sums of a dot product. */
    final float[] partial = new float[PANEL];

    private @Nullable Packer packer;

    void bind(@Nullable Packer newPacker) {
        packer = newPacker;
    }

    Packer packer() {
        return Checks.notNull(packer, "packer");
    }
}

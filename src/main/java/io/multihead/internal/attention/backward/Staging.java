package io.multihead.internal.attention.backward;

import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.HeadRows;
import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Buffers through which blocks are packed, and the thread's reader and writer of user memory. */
final class Staging {
    private static final float[] NONE = {};

    /** Rows of Q, O and dO, {@link io.multihead.internal.kernel.Lanes#ROW} floats apart. */
    final HeadRows queries;

    final HeadRows outputs;
    final HeadRows gradients;
    /** Up to 256 rows of a gradient to write, or a row of weights. */
    final float[] rows;
    /** One row. */
    final float[] other = new float[ROW];
    /** Partial sums of dot products. */
    final float[] partial = new float[ScoreGradient.PARTIALS];

    private @Nullable Packer packer;
    private int mostHeads = 1;

    Staging(Scratch memory) {
        rows = memory.atLeast(NONE, AttentionBlocking.BACKWARD_QUERIES * ROW);
        queries = new HeadRows(memory);
        outputs = new HeadRows(memory);
        gradients = new HeadRows(memory);
    }

    /**
     * Begins a task.
     *
     * @param newMostHeads the largest number of heads whose rows are worth reading together: the number of tasks of this thread
     */
    void bind(Packer newPacker, int newMostHeads) {
        packer = newPacker;
        mostHeads = newMostHeads;
    }

    /** Drops the reader and writer. */
    void release() {
        packer = null;
    }

    /**
     * Returns the number of heads, from a given one on, whose rows are read together.
     *
     * @param isWhole whether one block contains all rows of a head
     */
    int heads(boolean isWhole, Tensor tensor, int head) {
        return isWhole ? Math.min(mostHeads, HeadRows.adjacent(tensor, head)) : 1;
    }

    Packer packer() {
        return Checks.notNull(packer, "packer");
    }
}

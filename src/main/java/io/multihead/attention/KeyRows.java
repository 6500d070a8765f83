package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;

/** Up to 128 keys and values of one head, packed for backward as left operands. Belongs to one thread. */
final class KeyRows {
    /** Keys of one block: with 256 queries, everything that a pair of blocks touches stays in L2. */
    static final int MOST = 128;

    private final Scratch memory;

    /** {@code [chunk of headDim][key][ROW]}. */
    float[] keys = new float[0];
    /** {@code [chunk of valueDim][key][ROW]}. */
    float[] values = new float[0];
    /** {@code [headDim][key]}, without what is not finite: such a key has NaN in every dS that its rows see. */
    float[] turned = new float[0];

    long firstKey;
    int count;

    KeyRows(Scratch memory) {
        this.memory = memory;
    }

    /** Packs the keys and values of a group from {@code key} on. */
    void pack(GradientCall call, Packer packer, long group, long key, int newCount) {
        firstKey = key;
        count = newCount;
        keys = rows(call.forward, packer, call.forward.key(), group, call.forward.headDim, keys);
        values = rows(call.forward, packer, call.forward.value(), group, call.forward.valueDim, values);
        Tensor tensor = call.forward.key();
        int headDim = call.forward.headDim;
        turned = memory.atLeast(turned, Lanes.roundUp(Math.max(1, headDim), Lanes.ROW_STEP) * ROW);
        long at = call.forward.start(tensor, group) + key * tensor.stride(2);
        packer.read(tensor, at, tensor.stride(3), tensor.stride(2), headDim, count, turned, 0, ROW);
        for (int d = 0; d < headDim; d++) {
            ScoreGradient.dropStrays(turned, d * ROW, Lanes.roundUp(count, PANEL));
        }
    }

    private float[] rows(AttentionCall call, Packer packer, Tensor tensor, long group, int dim, float[] held) {
        float[] rows = memory.atLeast(held, Math.ceilDiv(Math.max(1, dim), DEPTH) * MOST * ROW);
        long at = call.start(tensor, group) + firstKey * tensor.stride(2);
        for (int d = 0; d < dim; d += DEPTH) {
            int depth = Math.min(DEPTH, dim - d);
            int to = d / DEPTH * MOST * ROW;
            packer.read(
                    tensor, at + d * tensor.stride(3), tensor.stride(2), tensor.stride(3), count, depth, rows, to, ROW);
        }
        return rows;
    }
}

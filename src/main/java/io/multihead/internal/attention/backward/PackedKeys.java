package io.multihead.internal.attention.backward;

import static io.multihead.internal.attention.AttentionBlocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;

/** Up to 128 keys and values of one head, packed as left operands. Belongs to one thread. */
final class PackedKeys {
    private final Scratch memory;

    /** {@code [chunk of headDim][key][ROW]}. */
    float[] keys = new float[0];
    /** {@code [chunk of valueDim][key][ROW]}. */
    float[] values = new float[0];
    /** K^T, {@code [headDim][key]}, with non-finite elements zeroed: the rows that see such a key have NaN in every dS of it. */
    float[] transposedKeys = new float[0];

    long firstKey;
    int count;

    PackedKeys(Scratch memory) {
        this.memory = memory;
    }

    /** Packs a block of the keys and values of a group. */
    void pack(BackwardArguments call, Packer packer, HeadGroup group, long block) {
        firstKey = block * AttentionBlocking.BACKWARD_KEYS;
        count = (int) Math.min(AttentionBlocking.BACKWARD_KEYS, call.problem.keys() - firstKey);
        int headDim = call.problem.headDim();
        Tensor key = call.key();
        keys = rows(packer, key, group, headDim, keys);
        values = rows(packer, call.value(), group, call.problem.valueDim(), values);
        transposedKeys = memory.atLeast(transposedKeys, Lanes.roundUp(Math.max(1, headDim), Lanes.ROW_STEP) * ROW);
        long at = group.keyPosition(key, firstKey);
        packer.read(key, at, key.stride(3), key.stride(2), headDim, count, transposedKeys, 0, ROW);
        for (int d = 0; d < headDim; d++) {
            ScoreGradient.zeroNonFinite(transposedKeys, d * ROW, Lanes.roundUp(count, PANEL));
        }
    }

    private float[] rows(Packer packer, Tensor tensor, HeadGroup group, int dim, float[] held) {
        float[] rows =
                memory.atLeast(held, Math.ceilDiv(Math.max(1, dim), DIM_CHUNK) * AttentionBlocking.BACKWARD_KEYS * ROW);
        for (int d = 0; d < dim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, dim - d);
            int to = d / DIM_CHUNK * AttentionBlocking.BACKWARD_KEYS * ROW;
            long at = group.keyPosition(tensor, firstKey) + d * tensor.stride(3);
            packer.read(tensor, at, tensor.stride(2), tensor.stride(3), count, depth, rows, to, ROW);
        }
        return rows;
    }
}

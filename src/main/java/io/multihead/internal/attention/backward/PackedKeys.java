package io.multihead.internal.attention.backward;

import static io.multihead.internal.attention.AttentionBlocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.attention.HeadRows;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.kernel.Transposition;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** Up to 128 keys and values of one head, packed as left operands. Belongs to one thread. */
final class PackedKeys {
    private final Scratch memory;

    /** {@code [chunk of headDim][key][ROW]}, of one head or of several adjacent heads: the head begins at {@link HeadRows#column}. */
    final HeadRows keys;
    /** {@code [chunk of valueDim][key][ROW]}, of one head or of several adjacent heads. */
    final HeadRows values;
    /** K^T, {@code [headDim][key]}, with non-finite elements zeroed: the rows that see such a key have NaN in every dS of the key. */
    float[] transposedKeys = new float[0];

    long firstKey;
    int count;

    PackedKeys(Scratch memory) {
        this.memory = memory;
        keys = new HeadRows(memory);
        values = new HeadRows(memory);
    }

    /** Packs a block of the keys and values of a group. */
    void pack(BackwardArguments call, Staging staging, HeadGroup group, long block) {
        firstKey = block * AttentionBlocking.BACKWARD_KEYS;
        count = (int) Math.min(AttentionBlocking.BACKWARD_KEYS, call.problem.keys() - firstKey);
        int headDim = call.problem.headDim();
        read(staging, call.key(), group, headDim, keys);
        read(staging, call.value(), group, call.problem.valueDim(), values);
        transpose(headDim);
    }

    private void transpose(int headDim) {
        transposedKeys = memory.atLeast(transposedKeys, Lanes.roundUp(Math.max(1, headDim), Lanes.ROW_STEP) * ROW);
        for (int d = 0; d < headDim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, headDim - d);
            int from = d / DIM_CHUNK * AttentionBlocking.BACKWARD_KEYS * ROW + keys.column();
            Transposition.of(keys.rows(), from, ROW, count, depth, transposedKeys, d * ROW, ROW);
        }
        int padded = Lanes.roundUp(count, PANEL);
        for (int d = 0; padded > count && d < headDim; d++) {
            Arrays.fill(transposedKeys, d * ROW + count, d * ROW + padded, 0f);
        }
        ScoreGradient.zeroNonFinite(transposedKeys, 0, headDim, padded);
    }

    /** Reads the rows of a head and of the adjacent heads, unless they were read with the rows of another head. */
    private void read(Staging staging, Tensor tensor, HeadGroup group, int dim, HeadRows to) {
        if (to.moveTo(group.tag(), dim)) {
            return;
        }
        int heads = staging.heads(count == group.problem().keys(), tensor, group.keyValueHead());
        int width = heads * dim;
        float[] rows = to.reserve(Math.ceilDiv(Math.max(1, width), DIM_CHUNK) * AttentionBlocking.BACKWARD_KEYS);
        for (int d = 0; d < width; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, width - d);
            int first = d / DIM_CHUNK * AttentionBlocking.BACKWARD_KEYS * ROW;
            long at = group.keyPosition(tensor, firstKey) + d * tensor.stride(3);
            staging.packer().read(tensor, at, tensor.stride(2), tensor.stride(3), count, depth, rows, first, ROW);
        }
        to.hold(group.tag(), heads);
    }
}

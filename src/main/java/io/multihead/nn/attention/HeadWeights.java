package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The storage of attention weights during a call, and their delivery to the caller.
 *
 * @param all {@code [batch, heads, queries, keys and extra keys]}; null if the caller requested no weights
 * @param isTemporary whether they are stored in a dense f32 temporary instead of the caller's memory, because they are averaged, change
 *     when extra keys are merged, are computed in several calls, or would be rounded before backward reads them
 * @param extraKeys the number of extra keys
 */
record HeadWeights(@Nullable Tensor all, boolean isTemporary, int extraKeys) {

    /** Allocates the weights that the outputs request. */
    static HeadWeights of(
            MultiHeadConfig config,
            TensorArena arena,
            ProjectedHeads heads,
            MultiHeadInputs.@Nullable Sequences sequences,
            MultiHeadOutputs outputs,
            boolean recorded) {
        int extra = config.extraKeys();
        Tensor wanted = outputs.headWeights();
        boolean rounded = recorded && wanted != null && wanted.dtype() != DType.F32 && wanted.dtype() != DType.F64;
        if (outputs.averageWeights() == null && (wanted == null || extra == 0 && sequences == null && !rounded)) {
            return new HeadWeights(wanted == null ? null : batched(wanted, 4), false, extra);
        }
        Tensor query = heads.query();
        long keys = sequences == null ? heads.key().dim(2) : sequences.keys().maxLength();
        return new HeadWeights(arena.f32(query.dim(0), query.dim(1), query.dim(2), keys + extra), true, extra);
    }

    /** Returns the weights of the projected keys. */
    @Nullable
    Tensor keys() {
        return all == null ? null : all.slice(3, 0, all.dim(3) - extraKeys);
    }

    /** Returns the weights of the extra keys. */
    @Nullable
    Tensor extra() {
        return all == null ? null : all.slice(3, all.dim(3) - extraKeys, all.dim(3));
    }

    /** Writes the requested weights that have not been written yet. */
    void deliver(Compute cpu, MultiHeadOutputs outputs) {
        if (all == null || !isTemporary) {
            return;
        }
        if (outputs.averageWeights() != null) {
            Tensor mean = batched(outputs.averageWeights(), 3);
            for (long b = 0; b < all.dim(0); b++) {
                TensorMath.meanOverFirstAxis(cpu, all.select(0, b), mean.select(0, b));
            }
        }
        if (outputs.headWeights() != null) {
            all.copyTo(batched(outputs.headWeights(), 4));
        }
    }

    /** Returns the tensor with a batch axis of 1 in front if it has none. */
    static Tensor batched(Tensor tensor, int rank) {
        long[] dims = new long[rank];
        dims[0] = 1;
        System.arraycopy(tensor.shape().toArray(), 0, dims, rank - tensor.rank(), tensor.rank());
        return tensor.reshape(dims);
    }
}

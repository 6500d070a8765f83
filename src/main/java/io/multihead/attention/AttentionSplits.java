package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.forward.SplitMerge;
import io.multihead.internal.attention.forward.SplitStates;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;

/**
 * Attention over keys that are divided into shards, with the bits of one call over all keys.
 *
 * <p>A call of {@link Attention#forward} computes a separate softmax over each split of {@value #SPLIT_KEYS} keys, counted from the first
 * key of the sequence, and merges the states of the splits in order (Dao et al. 2022, algorithm 1; Milakov and Gimelshein 2018). In
 * contrast, {@link #forward} of this class stops before the merge and writes the states of a shard; {@link #merge} merges the states of all
 * shards in the same order and with the same code. Therefore output and log-sum-exp have the same bits as the call over all keys without
 * weights or scores, for any shards that begin at a split.
 *
 * <pre>{@code
 * KeyValueView shard = KeyValueView.of(key, value).shard(firstKey);                       // on each machine
 * Tensor states = Tensor.allocate(arena, DType.F32, AttentionSplits.shape(query, shard));
 * AttentionSplits.forward(cpu, query, shard, states, options);
 *
 * AttentionSplits.merge(cpu, List.of(states0, states1, states2), outputs);                // on one
 * }</pre>
 *
 * <p>A state is unnormalized: the row's maximum, 32 partial sums of exponentials, and the output with a compensation term, about {@code 8
 * valueDim + 150} bytes for each split, head and query. For a few queries, states are small compared with the keys. For hundreds of
 * queries, and for shards that do not begin at splits, merge an {@link AttentionState} for each shard instead. It takes {@code 4 valueDim +
 * 8} bytes for each head and query. It is rounded, so the result differs from the result of one call by the rounding errors of the merges.
 *
 * <p>States are f32 numbers that another process can read, on a machine with another lane width too: send the memory of a dense
 * tensor. The meaning of the last axis, and {@link #SPLIT_KEYS}, may change with any version of the library: all shards of a result
 * must be computed and merged by the same version. Slices along the first three axes are states of some sequences, heads or queries,
 * and can be merged separately.
 *
 * <p>Thread-safe. The caller owns all memory. A warm call of forward allocates nothing.
 */
public final class AttentionSplits {
    /** Keys of one split. */
    public static final int SPLIT_KEYS = AttentionBlocking.KEY_SPLIT;

    private static final ScratchKey<SplitMerge> MERGE = ScratchKey.of(SplitMerge::new);

    private AttentionSplits() {}

    /**
     * Returns the shape of the states that {@link #forward} writes, {@code [sequences, queryHeads, queries, splits, size]}: the
     * number of splits depends on the longest sequence of the shard, and is at least one. The size depends on valueDim.
     *
     * @param query {@code [sequences, queryHeads, queries, headDim]}
     * @param shard keys and values of the same number of sequences
     * @return the shape of a tensor in f32
     * @throws IllegalArgumentException if the query does not fit keys and values, or there are more than 2^34 keys
     */
    public static Shape shape(Tensor query, KeyValueView shard) {
        requireKeys(Checks.notNull(shard, "shard"));
        AttentionChecks.requireQuery(query, shard.source(), null);
        return SplitStates.shape(query, shard.source());
    }

    private static void requireKeys(KeyValueView shard) {
        if (shard.maxKeys() > SplitStates.MAX_KEYS) {
            throw Checks.fail("shard", "keys to " + shard.maxKeys(), "expected at most " + SplitStates.MAX_KEYS);
        }
    }

    /**
     * Computes the states of a shard's splits.
     *
     * <p>All options of {@link Attention#forward} are supported. All shards need the same options. Positions and indices of keys are
     * relative to the whole sequence ({@link KeyValueView#shard}). Tensors of a mask end with the shard's last key: they are slices, from
     * key 0 to {@link KeyValueView#maxKeys}, of the tensors of a single call over the whole sequence. Key lengths do not exceed {@link
     * KeyValueView#keys} of the shard.
     *
     * @param cpu threads and scratch
     * @param query {@code [sequences, queryHeads, queries, headDim]}: the same queries for every shard
     * @param shard keys and values of the same number of sequences, from {@link KeyValueView#shard}; a view that is not a shard is the
     *     first shard
     * @param states {@code [sequences, queryHeads, queries, splits, size]} in f32, any strides, written; see {@link #shape}
     * @param options mask and scale, the same for every shard
     * @throws IllegalArgumentException if shapes or the element type of the states do not fit, a mask does not broadcast, the
     *     states overlap an input, or a causal mask, a window or linear biases come without {@link Mask#queryOffset}, since a
     *     shard does not know how many keys follow; nothing is written
     */
    public static void forward(Compute cpu, Tensor query, KeyValueView shard, Tensor states, AttentionOptions options) {
        Checks.notNull(cpu, "cpu");
        requireKeys(Checks.notNull(shard, "shard"));
        Checks.notNull(states, "states");
        Checks.notNull(options, "options");
        if (options.mask().alignsToEnd(options.scores().sharedSlopes() != null)) {
            throw Checks.fail(
                    "mask",
                    "causal, a window or linear biases without queryOffset",
                    "expected queryOffset, since a shard does not know how many keys follow");
        }
        Attention.forwardStates(cpu, query, shard, states, options);
    }

    /**
     * Merges the states of all shards in order, and writes output and log-sum-exp. Scale and sinks are already in the states.
     *
     * @param cpu threads and scratch
     * @param states the states of the shards in the order of their keys, {@code [sequences, queryHeads, queries, splits, size]} each, from
     *     {@link #forward}
     * @param outputs {@code [sequences, queryHeads, queries, ...]}, written; without weights and scores, which states do not contain
     * @throws IllegalArgumentException if there is no state, shapes do not fit, a split is missing, occurs twice or is incomplete, scales
     *     or sinks differ, outputs request weights or scores, or memory overlaps; nothing is written
     */
    public static void merge(Compute cpu, List<Tensor> states, AttentionOutputs outputs) {
        Checks.notNull(cpu, "cpu");
        List<Tensor> all = Checks.noNulls(states, "states");
        Checks.notNull(outputs, "outputs");
        SplitChecks.require(cpu, all, outputs);
        try (SplitMerge call = Operation.open(cpu, MERGE)) {
            call.bind(all, outputs.output(), outputs.logSumExp());
            call.run();
        }
    }
}

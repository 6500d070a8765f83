package io.multihead.internal.attention.forward;

import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.keyvalue.KeyValueBlock;
import io.multihead.internal.attention.keyvalue.PackedBlocks;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;

/**
 * The forward computation of one thread: the loop of FlashAttention (Dao et al. 2022, algorithm 1; Dao 2023) over the key blocks of a
 * task's query rows.
 *
 * <p>Key blocks and splits are aligned at key 0, and the arithmetic of a row does not depend on other rows, so results do not depend on
 * tiles, tasks, threads or the rest of the batch.
 */
final class ForwardWorker {
    private final QueryTile queries;
    private final VisibleKeys visible = new VisibleKeys();
    private final PackedBlocks blocks;
    private final ScoreTile scores;
    private final SplitFold fold;
    private final SplitStates saved;
    private final MaterializedForward materialized;
    private final float[] staging;

    ForwardWorker(Scratch memory) {
        queries = new QueryTile(memory);
        blocks = new PackedBlocks(memory);
        scores = new ScoreTile(memory, queries, visible);
        fold = new SplitFold(memory, queries);
        saved = new SplitStates(memory);
        staging = memory.atLeast(new float[0], AttentionBlocking.KEY_BLOCK * ROW);
        materialized = new MaterializedForward(queries, visible, blocks, scores, staging);
    }

    /**
     * Begins a task: {@code rows} query rows of a head group from {@code firstRow} on.
     *
     * @param tasksPerThread the number of tasks of a thread, which is the largest number of heads whose rows are read together
     */
    void bind(
            ForwardArguments call,
            int sequence,
            int keyValueHead,
            long firstRow,
            int rows,
            boolean keepsPacked,
            int tasksPerThread) {
        queries.bind(call.problem, sequence, keyValueHead, firstRow, rows, tasksPerThread);
        visible.bind(queries, call.mask, call.source());
        blocks.bind(call.source(), queries.group(), rows, keepsPacked, tasksPerThread);
    }

    /** Ends a task and drops every reference to the caller's memory. */
    void release() {
        queries.release();
        scores.release();
        blocks.release();
    }

    /** Computes and writes the results of the rows over all keys. */
    void attend(ForwardArguments call, Packer packer) {
        queries.load(call.tensors.query(), packer);
        OnlineSoftmax total = fold.begin(call.problem);
        if (call.materializes()) {
            materialized.attend(call, packer, total);
            materialized.writeWeights(call, packer, fold.write(call, packer));
        } else {
            attendSplits(call, packer, total);
            fold.write(call, packer);
        }
    }

    private void attendSplits(ForwardArguments call, Packer packer, OnlineSoftmax total) {
        long split = visible.first() / AttentionBlocking.KEY_SPLIT;
        attendSplit(call, packer, split, total);
        while (++split * AttentionBlocking.KEY_SPLIT < visible.end()) {
            attendSplit(call, packer, split, fold.next(call.problem));
            fold.merge();
        }
    }

    /** The loop of FlashAttention over one split of the keys; the scores of the next tile overwrite the scores of a tile. */
    private void attendSplit(ForwardArguments call, Packer packer, long split, OnlineSoftmax softmax) {
        scores.reserveTile();
        long end = Math.min(visible.end(), (split + 1) * AttentionBlocking.KEY_SPLIT);
        long firstKey = Math.max(split * AttentionBlocking.KEY_SPLIT, visible.firstBlock());
        for (; firstKey < end; firstKey += AttentionBlocking.KEY_BLOCK) {
            int blockKeys = (int) Math.min(AttentionBlocking.KEY_BLOCK, end - firstKey);
            KeyValueBlock block = null;
            for (int tile = 0; tile < queries.rows(); tile += AttentionBlocking.QUERY_TILE) {
                int keys = visible.keysOf(tile, queries.tileRows(tile), queries, call.mask, firstKey, blockKeys);
                if (keys > 0) {
                    if (block == null) {
                        block = blocks.block(firstKey, blockKeys);
                        block.packKeys(packer, staging);
                        block.packValues(packer, staging);
                    }
                    scores.multiplyKeys(call, packer, block, tile, firstKey, keys, 0);
                    softmax.raiseMaximum(scores.scores(), 0, tile, queries.tileRows(tile), keys);
                    scores.accumulate(call, block, softmax, tile, firstKey, keys, 0);
                }
            }
        }
    }

    /** Computes the state of the rows over one split of the keys and saves it for {@link #mergeSplits}. */
    void saveSplit(ForwardArguments call, Packer packer, long split, float[] to, int at) {
        int pitch = OnlineSoftmax.stateFloats(call.problem.valueDim());
        splitState(call, packer, split).save(queries.rows(), to, at, pitch);
    }

    /** Computes the state of the rows over one split of the keys and writes it to the caller's tensor. */
    void writeSplit(ForwardArguments call, Packer packer, long split) {
        saved.write(call, packer, queries, splitState(call, packer, split), split);
    }

    private OnlineSoftmax splitState(ForwardArguments call, Packer packer, long split) {
        queries.load(call.tensors.query(), packer);
        OnlineSoftmax state = fold.next(call.problem);
        attendSplit(call, packer, split, state);
        return state;
    }

    /** Merges the saved states of all splits in order, as {@link #attend} does, and writes the results. */
    void mergeSplits(ForwardArguments call, Packer packer, int splits, float[] from, int at, int length) {
        fold.begin(call.problem);
        OnlineSoftmax part = fold.next(call.problem);
        int pitch = OnlineSoftmax.stateFloats(call.problem.valueDim());
        for (int split = 0; split < splits; split++) {
            part.load(queries.rows(), from, at + split * length, pitch);
            fold.merge();
        }
        fold.write(call, packer);
    }
}

package io.multihead.internal.attention.forward;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.ScoreRule;
import io.multihead.internal.attention.keyvalue.KeyValueBlock;
import io.multihead.internal.attention.keyvalue.NonFiniteValues;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.attention.mask.ScoreTransform;
import io.multihead.internal.base.Philox;
import io.multihead.internal.gemm.MacroKernel;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import java.util.Arrays;

/**
 * Computes the masked scores of tiles, {@code S = Q K^T}, which the softmax turns into P in place, and then {@code O = O + P V}. It holds
 * one tile and one key block, or all scores of a task if weights are requested. Belongs to one thread.
 */
final class ScoreTile {
    private static final int TILE_FLOATS = AttentionBlocking.QUERY_TILE * ROW;

    private final Scratch memory;
    private final MacroKernel product;
    private final QueryTile queries;
    private final VisibleKeys visible;
    private final ScoreTransform transform = new ScoreTransform();
    private final int[] words = new int[4];
    private float[] scores = new float[0];
    private float[] dropped = new float[0];

    ScoreTile(Scratch memory, QueryTile queries, VisibleKeys visible) {
        this.memory = memory;
        this.queries = queries;
        this.visible = visible;
        product = new MacroKernel(memory);
    }

    /** Reserves the scores of one tile and one key block. */
    void reserveTile() {
        scores = memory.atLeast(scores, TILE_FLOATS);
    }

    void reserve(int floats) {
        scores = memory.atLeast(scores, floats);
    }

    /** Returns S, and P after {@link OnlineSoftmax#exponentiate}; rows are {@link Lanes#ROW} floats apart. */
    float[] scores() {
        return scores;
    }

    /** Computes {@code S = Q K^T} of a tile and a block's first keys, neither scaled nor masked. */
    void multiplyUnmasked(KeyValueBlock block, int tile, int keys, int at) {
        int count = queries.tileRows(tile);
        block.multiplyKeys(product, queries.packed(), queries.packedAt(tile), queries.chunk(), count, keys, scores, at);
    }

    /**
     * Computes {@code S = Q K^T}, masked. The scores are already scaled if another transform follows; otherwise the exponential scales
     * them.
     */
    void multiplyKeys(
            ForwardArguments call, Packer packer, KeyValueBlock block, int tile, long firstKey, int keys, int at) {
        multiplyUnmasked(block, tile, keys, at);
        int count = queries.tileRows(tile);
        BoundMask mask = call.mask;
        ScoreRule rule = call.problem.scores();
        int padded = Lanes.roundUp(keys, COUNT);
        boolean transforms = ScoreTransform.isNeeded(rule, mask);
        for (int r = 0; r < count; r++) {
            int row = tile + r;
            int to = at + r * ROW;
            int end = visible.endOf(row, firstKey, keys);
            int first = visible.firstOf(row, firstKey, end);
            if (transforms && end > first) {
                long query = queries.query(row);
                transform.moveTo(queries.group().sequence(), queries.head(row), query, firstKey);
                transform.apply(rule, mask, packer, scores, to, query + visible.offset(), first, end);
            }
            Arrays.fill(scores, to, to + first, Float.NEGATIVE_INFINITY);
            if (end < padded) {
                Arrays.fill(scores, to + end, to + padded, Float.NEGATIVE_INFINITY);
            }
        }
    }

    /**
     * Turns S into P and adds {@code P V} to O, or {@code (M o P) V} with dropout factors M: the steps after the maximum in the
     * loop of FlashAttention.
     */
    void accumulate(
            ForwardArguments call, KeyValueBlock block, OnlineSoftmax into, int tile, long firstKey, int keys, int at) {
        int count = queries.tileRows(tile);
        into.rescale(tile, count);
        if (block.leavesOutNonFinite()) {
            addNonFinite(block.nonFinite(), into, tile, keys, at);
        }
        into.exponentiate(scores, at, tile, count, keys);
        ScoreRule rule = call.problem.scores();
        if (rule.drops()) {
            drop(rule, tile, firstKey, keys, at);
        }
        product.left(rule.drops() ? dropped : scores, rule.drops() ? 0 : at);
        block.multiplyValues(product, count, keys, into.output(), into.at(tile), into.stride(), into.compensation());
    }

    /** Adds infinite and NaN values, while masked scores are still minus infinity. */
    private void addNonFinite(NonFiniteValues values, OnlineSoftmax into, int tile, int keys, int at) {
        for (int r = 0; r < queries.tileRows(tile); r++) {
            values.addTo(scores, at + r * ROW, keys, into.output(), into.at(tile + r), into.width());
        }
    }

    /** Computes {@code M o P} separately from P, which the caller may have requested as weights. */
    private void drop(ScoreRule rule, int tile, long firstKey, int keys, int at) {
        dropped = memory.atLeast(dropped, TILE_FLOATS);
        for (int r = 0; r < queries.tileRows(tile); r++) {
            // whole panels are copied: weights beyond the keys are 0, and some panels are multiplied up to a few rows
            // beyond the keys
            System.arraycopy(scores, at + r * ROW, dropped, r * ROW, Lanes.roundUp(keys, PANEL));
            long counter = queries.dropoutCounter(tile + r);
            Philox.drop(dropped, r * ROW, keys, firstKey, counter, rule.dropoutSeed(), rule.dropoutRate(), words);
        }
    }

    /** Drops every reference to the memory of other owners. */
    void release() {
        product.release();
    }
}

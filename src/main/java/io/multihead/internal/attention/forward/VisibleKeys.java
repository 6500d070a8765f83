package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.mask.BlockSparseMask;
import io.multihead.internal.attention.mask.BoundMask;

/**
 * The range of keys that each query row of a task may attend to, from causality, windows, key lengths and the keys that the storage still
 * has. Tensors of the mask may hide more. Belongs to one thread.
 */
final class VisibleKeys {
    private long[] firsts = new long[0];
    private long[] ends = new long[0];
    private long first;
    private long end;
    /** Position of the sequence's query 0 among its keys. */
    private long offset;

    /** Computes the ranges. */
    void bind(QueryTile queries, BoundMask mask, KeyValueSource source) {
        int rows = queries.rows();
        int sequence = queries.group().sequence();
        ends = ends.length >= rows ? ends : new long[rows];
        firsts = firsts.length >= rows ? firsts : new long[rows];
        long keys = mask.end(sequence, source.keys(sequence));
        offset = mask.offset(sequence, queries.group().queries(), keys);
        long oldest = source.firstKey(sequence);
        first = Long.MAX_VALUE;
        end = 0;
        for (int row = 0; row < rows; ) {
            long query = queries.query(row);
            for (int last = row + queries.rowsOfHead(row); row < last; row++, query++) {
                ends[row] = mask.visibleKeys(query, offset, keys);
                firsts[row] = Math.max(oldest, mask.firstKey(query, offset));
                first = Math.min(first, firsts[row]);
                end = Math.max(end, ends[row]);
            }
        }
    }

    /** Returns the smallest first key of the rows. */
    long first() {
        return first;
    }

    /** Returns the largest end of the keys of the rows. */
    long end() {
        return end;
    }

    /** Returns the first key of the block that holds {@link #first}. */
    long firstBlock() {
        return first / AttentionBlocking.KEY_BLOCK * AttentionBlocking.KEY_BLOCK;
    }

    /** Returns the position of the sequence's query 0 among its keys. */
    long offset() {
        return offset;
    }

    /** Returns the end of a row's keys, counted from the first key of a block, at most {@code keys}. */
    int endOf(int row, long firstKey, int keys) {
        return (int) Math.max(0, Math.min(keys, ends[row] - firstKey));
    }

    /** Returns the first of a row's keys, counted from the first key of a block, at most {@code keys}. */
    int firstOf(int row, long firstKey, int keys) {
        return (int) Math.max(0, Math.min(keys, firsts[row] - firstKey));
    }

    /** Returns the number of keys, from the first key of the block on, by which some rows are multiplied; 0 if the block is skipped. */
    int keysOf(int firstRow, int rows, QueryTile queries, BoundMask mask, long firstKey, int blockKeys) {
        long most = 0;
        boolean seen = false;
        for (int row = firstRow; row < firstRow + rows; row++) {
            most = Math.max(most, ends[row]);
            seen |= firsts[row] < firstKey + blockKeys;
        }
        int keys = (int) Math.min(blockKeys, most - firstKey);
        return seen && keys > 0 && keepsAny(firstRow, rows, queries, mask.blocks(), firstKey, keys) ? keys : 0;
    }

    private static boolean keepsAny(
            int firstRow, int rows, QueryTile queries, BlockSparseMask blocks, long firstKey, int keys) {
        boolean any = !blocks.hides();
        int sequence = queries.group().sequence();
        for (int row = firstRow; !any && row < firstRow + rows; row++) {
            any = blocks.keepsAny(sequence, queries.head(row), queries.query(row), firstKey, keys);
        }
        return any;
    }
}

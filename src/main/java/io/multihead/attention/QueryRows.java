package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Philox;
import io.multihead.internal.kernel.Product;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One unit's query rows: reads them, lets key blocks pass, writes what came of it. Belongs to one thread.
 *
 * <p>For each key block {@code S = Q K^T}, then {@link OnlineSoftmax}. Key blocks and splits are aligned at key 0 and a row's
 * arithmetic never looks at other rows, so results do not depend on tiles, units, threads or batch mates.
 */
final class QueryRows {
    /** Rows that pass a key block together: their scores, 48 x 256, stay in L1 and L2. */
    static final int TILE = 48;

    private static final int TILE_FLOATS = TILE * ROW;

    private final Scratch memory;
    private final Product product;
    private final float[] packing = new float[DEPTH * ROW];
    private KeyBlock[] blocks;
    private final ScoreRows scoreRows = new ScoreRows();
    private final int[] words = new int[4];
    /** Of the first split and all that were merged into it. */
    private final OnlineSoftmax total;
    /** Of the split at hand. */
    private final OnlineSoftmax state;

    private float[] scores = new float[0];
    private float[] dropped = new float[0];
    private float[] queryRows = new float[0];
    private float[] divisors = new float[0];
    /** First key and end of keys that each row sees. */
    private long[] firsts = new long[0];

    private long[] limits = new long[0];
    private long first;
    private long limit;

    private ForwardCall forward;
    private AttentionCall call;
    private Packer packer;
    private int sequence;
    private int kvHead;
    private long queries;
    /** Position of the sequence's query 0 among its keys. */
    private long offset;

    private long firstRow;
    private int rows;
    private int paddedRows;

    QueryRows(Scratch memory) {
        this.memory = memory;
        product = new Product(memory);
        blocks = new KeyBlock[] {new KeyBlock(memory)};
        total = new OnlineSoftmax(memory);
        state = new OnlineSoftmax(memory);
    }

    /** Takes rows {@code firstRow} on of one group of query heads. */
    void open(ForwardCall newCall, Packer newPacker, int newSequence, long newKvHead, long newFirstRow, int newRows) {
        forward = newCall;
        call = newCall.arguments;
        packer = newPacker;
        sequence = newSequence;
        kvHead = (int) newKvHead;
        queries = newCall.queries(newSequence);
        firstRow = newFirstRow;
        rows = newRows;
        limitKeys();
    }

    /** Forgets the call. */
    void close() {
        forward = null;
        call = null;
        packer = null;
        product.release();
        for (KeyBlock block : blocks) {
            block.release();
        }
    }

    /** Computes and writes the output. */
    void attend() {
        load();
        Tensor weights = call.weights();
        total.reset(rows, call.valueDim, call.scoreScale());
        if (weights == null) {
            passSplits();
        } else {
            attendWhole();
        }
        write(weights);
    }

    private void passSplits() {
        long split = first / ForwardCall.SPLIT;
        passSplit(split, total);
        while (++split * ForwardCall.SPLIT < limit) {
            state.reset(rows, call.valueDim, call.scoreScale());
            passSplit(split, state);
            total.merge(state, rows);
        }
    }

    /** Computes the state of one split of the keys and saves it. */
    void attendSplit(long split, float[] to, int at) {
        load();
        state.reset(rows, call.valueDim, call.scoreScale());
        passSplit(split, state);
        state.save(rows, to, at);
    }

    /** Merges the saved states of all splits in order, as {@link #attend} does, and writes the output. */
    void merge(int splits, float[] from, int at, int length) {
        total.reset(rows, call.valueDim, call.scoreScale());
        state.reset(rows, call.valueDim, call.scoreScale());
        for (int split = 0; split < splits; split++) {
            state.load(rows, from, at + split * length);
            total.merge(state, rows);
        }
        write(null);
    }

    /** Keys of one split pass in blocks; a tile's scores are gone when the next block comes. */
    private void passSplit(long split, OnlineSoftmax into) {
        scores = memory.atLeast(scores, TILE_FLOATS);
        long end = Math.min(limit, (split + 1) * ForwardCall.SPLIT);
        for (long firstKey = Math.max(split * ForwardCall.SPLIT, first / DEPTH * DEPTH);
                firstKey < end;
                firstKey += DEPTH) {
            int blockKeys = (int) Math.min(DEPTH, end - firstKey);
            KeyBlock block = null;
            for (int tile = 0; tile < rows; tile += TILE) {
                int keys = keysOf(tile, firstKey, blockKeys);
                if (keys > 0) {
                    if (block == null) {
                        block = blockOf(firstKey, blockKeys);
                        block.packKeys(packer, packing);
                        block.packValues(packer, packing);
                    }
                    score(block, tile, firstKey, keys, 0);
                    into.raiseMaximum(scores, 0, tile, countOf(tile), keys);
                    into.exponentiate(block, scores, 0, tile, countOf(tile), keys);
                    accumulate(block, into, tile, firstKey, keys, 0);
                }
            }
        }
    }

    /** All scores first, then softmax over whole rows: for callers who want the weights. */
    private void attendWhole() {
        scores = memory.atLeast(
                scores, (int) ForwardCall.scoreFloats(forward.view().keys(sequence), rows));
        for (long firstKey = first / DEPTH * DEPTH; firstKey < limit; firstKey += DEPTH) {
            int blockKeys = (int) Math.min(DEPTH, limit - firstKey);
            KeyBlock block = blockOf(firstKey, blockKeys);
            block.packKeys(packer, packing);
            for (int tile = 0; tile < rows; tile += TILE) {
                int keys = keysOf(tile, firstKey, blockKeys);
                if (keys > 0) {
                    score(block, tile, firstKey, keys, scoresOf(tile, firstKey));
                    total.raiseMaximum(scores, scoresOf(tile, firstKey), tile, countOf(tile), keys);
                }
            }
        }
        total.keepMaximum();
        for (long firstKey = first / DEPTH * DEPTH; firstKey < limit; firstKey += DEPTH) {
            int blockKeys = (int) Math.min(DEPTH, limit - firstKey);
            KeyBlock block = blockOf(firstKey, blockKeys);
            block.packValues(packer, packing);
            for (int tile = 0; tile < rows; tile += TILE) {
                int keys = keysOf(tile, firstKey, blockKeys);
                if (keys > 0) {
                    int at = scoresOf(tile, firstKey);
                    total.exponentiate(block, scores, at, tile, countOf(tile), keys);
                    accumulate(block, total, tile, firstKey, keys, at);
                }
            }
        }
    }

    /** The block that holds these keys from unit to unit; when keeping all would take too much, one block for all in turn. */
    private KeyBlock blockOf(long firstKey, int count) {
        KeyBlock block = blocks[0];
        if (forward.keepsKeys()) {
            int index = (int) (firstKey / DEPTH);
            while (blocks.length <= index) {
                blocks = Arrays.copyOf(blocks, blocks.length + 1);
                blocks[blocks.length - 1] = new KeyBlock(memory);
            }
            block = blocks[index];
        } else if (!block.holds(firstKey)) {
            block.clear();
        }
        block.find(forward, sequence, kvHead, firstKey, count, rows);
        return block;
    }

    /** Where a tile's scores of one key block lie when all are held. */
    private int scoresOf(int tile, long firstKey) {
        return (int) (firstKey / DEPTH) * ForwardCall.blockFloats(rows) + tile * ROW;
    }

    /** How many keys of the block the tile must pass, counted from the block's first; 0 if no row sees any. */
    private int keysOf(int tile, long firstKey, int blockKeys) {
        long most = 0;
        boolean seen = false;
        for (int row = tile; row < Math.min(tile + TILE, rows); row++) {
            most = Math.max(most, limits[row]);
            seen |= firsts[row] < firstKey + blockKeys;
        }
        int keys = (int) Math.min(blockKeys, most - firstKey);
        return seen && keys > 0 && keepsAny(tile, firstKey, keys) ? keys : 0;
    }

    private boolean keepsAny(int tile, long firstKey, int keys) {
        BlockPlan blockPlan = call.mask.blocks();
        boolean any = !blockPlan.hides();
        for (int row = tile; !any && row < Math.min(tile + TILE, rows); row++) {
            any = blockPlan.keepsAny(sequence, headOf(row), queryOf(row), firstKey, keys);
        }
        return any;
    }

    private int countOf(int tile) {
        return Math.min(TILE, rows - tile);
    }

    private long headOf(int row) {
        return kvHead * call.group + (firstRow + row) / queries;
    }

    private long queryOf(int row) {
        return (firstRow + row) % queries;
    }

    /** Which keys each row sees. */
    private void limitKeys() {
        limits = limits.length >= rows ? limits : new long[rows];
        firsts = firsts.length >= rows ? firsts : new long[rows];
        long end = call.mask.end(sequence, forward.view().keys(sequence));
        offset = call.mask.offset(sequence, queries, end);
        long oldest = forward.view().firstKey(sequence);
        first = Long.MAX_VALUE;
        limit = 0;
        for (int row = 0; row < rows; row++) {
            limits[row] = call.mask.visibleKeys(queryOf(row), offset, end);
            firsts[row] = Math.max(oldest, call.mask.firstKey(queryOf(row), offset));
            first = Math.min(first, firsts[row]);
            limit = Math.max(limit, limits[row]);
        }
    }

    /** Packs the queries in chunks of headDim. */
    private void load() {
        paddedRows = Lanes.roundUp(rows, ROW_STEP) + ROW_STEP;
        queryRows = memory.atLeast(queryRows, Math.ceilDiv(Math.max(1, call.headDim), DEPTH) * paddedRows * ROW);
        Tensor query = call.query();
        for (int row = 0; row < rows; ) {
            int run = runOf(row);
            long at = start(query, row);
            for (int d = 0; d < call.headDim; d += DEPTH) {
                int depth = Math.min(DEPTH, call.headDim - d);
                int to = (d / DEPTH * paddedRows + row) * ROW;
                long from = at + d * query.stride(3);
                packer.read(query, from, query.stride(2), query.stride(3), run, depth, queryRows, to, ROW);
                for (int r = 0; call.queryFactor != 1f && r < run; r++) {
                    RowOps.scale(queryRows, to + r * ROW, Lanes.roundUp(depth, PANEL), call.queryFactor);
                }
            }
            row += run;
        }
    }

    /** {@code S = Q K^T}, masked; scaled already if something is done to it, else by the exponential. */
    private void score(KeyBlock block, int tile, long firstKey, int keys, int at) {
        int count = countOf(tile);
        block.score(product, queryRows, tile * ROW, paddedRows * ROW, count, keys, scores, at);
        int padded = Lanes.roundUp(keys, PANEL);
        for (int r = 0; r < count; r++) {
            int row = tile + r;
            int to = at + r * ROW;
            int visible = (int) Math.max(0, Math.min(keys, limits[row] - firstKey));
            int hidden = (int) Math.max(0, Math.min(visible, firsts[row] - firstKey));
            if (visible > hidden
                    && (call.scalesFirst()
                            || call.mask.hasTensors()
                            || call.mask.blocks().hides())) {
                scoreRows.place(sequence, headOf(row), queryOf(row), firstKey);
                scoreRows.change(call, packer, scores, to, queryOf(row) + offset, hidden, visible);
            }
            Arrays.fill(scores, to, to + hidden, Float.NEGATIVE_INFINITY);
            if (visible < padded) {
                Arrays.fill(scores, to + visible, to + padded, Float.NEGATIVE_INFINITY);
            }
        }
    }

    /** {@code O = O + P V}, or {@code O + (M o P) V} with dropout factors M. */
    private void accumulate(KeyBlock block, OnlineSoftmax into, int tile, long firstKey, int keys, int at) {
        boolean drops = call.dropout.drops();
        if (drops) {
            drop(tile, firstKey, keys, at);
        }
        product.left(drops ? dropped : scores, drops ? 0 : at);
        block.accumulate(product, countOf(tile), keys, into, tile);
    }

    /** {@code M o P}, apart from P, which the caller may want as weights. */
    private void drop(int tile, long firstKey, int keys, int at) {
        dropped = memory.atLeast(dropped, TILE_FLOATS);
        for (int r = 0; r < countOf(tile); r++) {
            // up to whole panels: weights beyond the keys are 0, and some panels are multiplied a few rows beyond them
            System.arraycopy(scores, at + r * ROW, dropped, r * ROW, Lanes.roundUp(keys, PANEL));
            long counter = AttentionDropout.counter(queryOf(tile + r), sequence * call.heads + headOf(tile + r));
            Philox.drop(dropped, r * ROW, keys, firstKey, counter, call.dropout.seed(), call.dropout.rate(), words);
        }
    }

    /** Normalises and writes head by head, since a unit's rows may belong to several query heads. */
    private void write(@Nullable Tensor weights) {
        divisors = memory.atLeast(divisors, rows);
        for (int row = 0; row < rows; row++) {
            divisors[row] = total.normalise(row, call.scores.sink(headOf(row)));
        }
        Tensor to = call.output();
        Tensor lse = call.logSumExp();
        for (int row = 0; row < rows; ) {
            int run = runOf(row);
            packer.write(
                    total.output(),
                    total.at(row),
                    total.stride(),
                    run,
                    call.valueDim,
                    to,
                    start(to, row),
                    to.stride(2),
                    to.stride(3));
            for (int r = row; r < row + run; r++) {
                if (weights != null) {
                    writeWeights(weights, r);
                }
                if (lse != null) {
                    lse.setAt(start(lse, r), total.logSumExp(r, call.scores.sink(headOf(r))));
                }
            }
            row += run;
        }
    }

    /** Writes 0 for keys that the row does not see, those beyond its sequence included. */
    private void writeWeights(Tensor weights, int row) {
        int tile = row / TILE * TILE;
        for (long firstKey = 0; firstKey < call.keys; firstKey += DEPTH) {
            int blockKeys = (int) Math.min(DEPTH, call.keys - firstKey);
            int held = divisors[row] == 0f ? 0 : heldKeys(tile, firstKey);
            float[] from = held > 0 ? scores : packing;
            int at = held > 0 ? scoresOf(tile, firstKey) + (row - tile) * ROW : 0;
            if (held > 0) {
                RowOps.divide(scores, at, Lanes.roundUp(held, PANEL), divisors[row]);
            }
            Arrays.fill(from, at + held, at + blockKeys, 0f);
            long to = start(weights, row) + firstKey * weights.stride(3);
            packer.write(from, at, ROW, 1, blockKeys, weights, to, 0, weights.stride(3));
        }
    }

    /** How many keys of a block the tile passed in {@link #attendWhole}. */
    private int heldKeys(int tile, long firstKey) {
        boolean passed = firstKey >= first / DEPTH * DEPTH && firstKey < limit;
        return passed ? keysOf(tile, firstKey, (int) Math.min(DEPTH, limit - firstKey)) : 0;
    }

    /** How many rows from this one on belong to the same query head. */
    private int runOf(int row) {
        return (int) Math.min(rows - row, queries - queryOf(row));
    }

    private long start(Tensor tensor, int row) {
        return forward.start(tensor, sequence, headOf(row), queryOf(row));
    }
}

package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.TALL_ROWS;

import io.multihead.internal.Checks;
import io.multihead.internal.kernel.Exp;
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
 * The state of one unit's query rows while key blocks pass: online softmax (Milakov and Gimelshein 2018; Dao et al. 2022,
 * algorithm 1). Belongs to one thread.
 *
 * <p>Per row: running maximum m, sum of exponentials l (as 32 partial sums), unnormalised output O. For each key block
 * {@code S = Q K^T}, {@code m' = max(m, max S)}, {@code P = e^(S - m')}, {@code l = l e^(m - m') + sum P},
 * {@code O = O e^(m - m') + P V}. Key blocks are aligned at key 0 and a row's arithmetic never looks at other rows, so
 * results do not depend on tiles, units, threads or batch mates.
 */
final class QueryRows {
    /** Rows that pass a key block together: their scores, 48 x 256, stay in L1 and L2. */
    static final int TILE = 48;

    private static final int TILE_FLOATS = TILE * ROW;

    private final Product product = new Product();
    private final float[] packing = new float[DEPTH * ROW];
    private KeyBlock[] blocks = {new KeyBlock()};
    private final float[] rescale = new float[Lanes.roundUp(TILE, PANEL)];
    private final float[] staging = new float[DEPTH];
    private final float[] unused = new float[PANEL];
    private final MaskPlan.Place place = new MaskPlan.Place();
    private final int[] words = new int[4];
    private float[] scores = new float[0];
    private float[] dropped = new float[0];
    private float[] queryRows = new float[0];
    private float[] output = new float[0];
    private float[] maximum = new float[0];
    private float[] sums = new float[0];
    private long[] limits = new long[0];

    private AttentionCall call;
    private Packer packer;
    private long groupIndex;
    private long batch;
    private long kvHead;
    private long firstRow;
    private int rows;
    private int paddedRows;
    private int wide;
    /** Floats from row to row of {@link #output}: {@code wide} sums, then what rounding lost of each. */
    private int stride;

    QueryRows() {}

    /** Computes the output of rows {@code firstRow} on of one group of query heads. */
    void attend(AttentionCall newCall, Packer newPacker, long newGroupIndex, long newFirstRow, int newRows) {
        call = newCall;
        packer = newPacker;
        groupIndex = newGroupIndex;
        batch = groupIndex / call.kvHeads;
        kvHead = groupIndex % call.kvHeads;
        firstRow = newFirstRow;
        rows = newRows;
        load();
        long limit = 0;
        for (int row = 0; row < rows; row++) {
            limit = Math.max(limit, limits[row]);
        }
        Tensor weights = call.weights();
        if (weights == null) {
            attendTiled(limit);
        } else {
            attendWhole(limit);
        }
        normalise();
        write(weights);
        call = null;
        packer = null;
    }

    /** Keys pass in blocks; a tile's scores are gone when the next block comes. */
    private void attendTiled(long limit) {
        scores = Scratch.atLeast(scores, TILE_FLOATS);
        for (long firstKey = 0; firstKey < limit; firstKey += DEPTH) {
            int blockKeys = (int) Math.min(DEPTH, limit - firstKey);
            KeyBlock block = blockAt(firstKey);
            block.packKeys(call, packer, packing, groupIndex, firstKey, blockKeys);
            block.packValues(call, packer, packing, groupIndex, firstKey, blockKeys);
            for (int tile = 0; tile < rows; tile += TILE) {
                int keys = keysOf(tile, firstKey, blockKeys);
                if (keys > 0) {
                    score(block, tile, firstKey, keys, 0);
                    raiseMaximum(tile, keys, 0);
                    exponentiate(block, tile, keys, 0);
                    accumulate(block, tile, firstKey, keys, 0);
                }
            }
        }
    }

    /** All scores first, then softmax over whole rows: for callers who want the weights. */
    private void attendWhole(long limit) {
        long size = Math.ceilDiv(call.keys, (long) DEPTH) * Math.ceilDiv(rows, TILE) * TILE_FLOATS;
        scores = Scratch.atLeast(scores, Checks.fitsInt(size, "keys"));
        for (long firstKey = 0; firstKey < limit; firstKey += DEPTH) {
            int blockKeys = (int) Math.min(DEPTH, limit - firstKey);
            KeyBlock block = blockAt(firstKey);
            block.packKeys(call, packer, packing, groupIndex, firstKey, blockKeys);
            for (int tile = 0; tile < rows; tile += TILE) {
                int keys = keysOf(tile, firstKey, blockKeys);
                if (keys > 0) {
                    score(block, tile, firstKey, keys, scoresOf(tile, firstKey));
                    raiseMaximum(tile, keys, scoresOf(tile, firstKey));
                }
            }
        }
        Arrays.fill(rescale, 1f);
        for (long firstKey = 0; firstKey < limit; firstKey += DEPTH) {
            int blockKeys = (int) Math.min(DEPTH, limit - firstKey);
            KeyBlock block = blockAt(firstKey);
            block.packValues(call, packer, packing, groupIndex, firstKey, blockKeys);
            for (int tile = 0; tile < rows; tile += TILE) {
                int keys = keysOf(tile, firstKey, blockKeys);
                if (keys > 0) {
                    exponentiate(block, tile, keys, scoresOf(tile, firstKey));
                    accumulate(block, tile, firstKey, keys, scoresOf(tile, firstKey));
                }
            }
        }
    }

    /** The block that holds these keys from unit to unit; when keeping all would take too much, one block for all in turn. */
    private KeyBlock blockAt(long firstKey) {
        if (!call.keepsKeys()) {
            blocks[0].clear();
            return blocks[0];
        }
        int index = (int) (firstKey / DEPTH);
        while (blocks.length <= index) {
            blocks = Arrays.copyOf(blocks, blocks.length + 1);
            blocks[blocks.length - 1] = new KeyBlock();
        }
        return blocks[index];
    }

    /** Where a tile's scores of one key block lie when all are held. */
    private int scoresOf(int tile, long firstKey) {
        return ((int) (firstKey / DEPTH) * Math.ceilDiv(rows, TILE) + tile / TILE) * TILE_FLOATS;
    }

    /** How many keys of the block some row of the tile sees, counted from the block's first. */
    private int keysOf(int tile, long firstKey, int blockKeys) {
        long most = 0;
        for (int row = tile; row < Math.min(tile + TILE, rows); row++) {
            most = Math.max(most, limits[row]);
        }
        return (int) Math.min(blockKeys, most - firstKey);
    }

    private int countOf(int tile) {
        return Math.min(TILE, rows - tile);
    }

    private long headOf(int row) {
        return kvHead * call.group + (firstRow + row) / call.queries;
    }

    private long queryOf(int row) {
        return (firstRow + row) % call.queries;
    }

    /** Packs the queries in chunks of headDim, and resets the state. */
    private void load() {
        paddedRows = Lanes.roundUp(rows, TALL_ROWS) + TALL_ROWS;
        wide = Lanes.roundUp(call.valueDim, PANEL);
        queryRows = Scratch.atLeast(queryRows, Math.ceilDiv(Math.max(1, call.headDim), DEPTH) * paddedRows * ROW);
        stride = 2 * wide;
        output = Scratch.atLeast(output, paddedRows * stride);
        maximum = Scratch.atLeast(maximum, paddedRows);
        sums = Scratch.atLeast(sums, paddedRows * PANEL);
        limits = limits.length >= rows ? limits : new long[rows];
        Arrays.fill(output, 0, rows * stride, 0f);
        Arrays.fill(maximum, 0, rows, Float.NEGATIVE_INFINITY);
        Arrays.fill(sums, 0, rows * PANEL, 0f);
        Tensor query = call.query();
        for (int row = 0; row < rows; ) {
            int run = runOf(row);
            long at = start(query, row);
            for (int d = 0; d < call.headDim; d += DEPTH) {
                int depth = Math.min(DEPTH, call.headDim - d);
                int to = (d / DEPTH * paddedRows + row) * ROW;
                packer.read(
                        query,
                        at + d * query.stride(3),
                        query.stride(2),
                        query.stride(3),
                        run,
                        depth,
                        queryRows,
                        to,
                        ROW);
                for (int r = 0; call.queryFactor != 1f && r < run; r++) {
                    RowOps.scale(queryRows, to + r * ROW, Lanes.roundUp(depth, PANEL), call.queryFactor);
                }
            }
            for (int r = 0; r < run; r++) {
                limits[row + r] = call.mask.visibleKeys(batch, queryOf(row + r));
            }
            row += run;
        }
    }

    /** {@code S = Q K^T}, masked; scaled already if a bias is added to it, else by the exponential. */
    private void score(KeyBlock block, int tile, long firstKey, int keys, int at) {
        int count = countOf(tile);
        for (int d = 0; d < call.headDim; d += DEPTH) {
            int depth = Math.min(DEPTH, call.headDim - d);
            product.left(queryRows, (d / DEPTH * paddedRows + tile) * ROW)
                    .right(block.keyPanels(), d * DEPTH, depth * PANEL)
                    .into(scores, at, ROW)
                    .multiply(count, keys, depth, d > 0);
        }
        if (call.headDim == 0) {
            Arrays.fill(scores, at, at + count * ROW, 0f);
        }
        int padded = Lanes.roundUp(keys, PANEL);
        for (int r = 0; r < count; r++) {
            int row = tile + r;
            int visible = (int) Math.max(0, Math.min(keys, limits[row] - firstKey));
            if (visible > 0 && call.mask.hasTensors()) {
                if (call.mask.hasBias()) {
                    RowOps.scale(scores, at + r * ROW, padded, call.scale);
                }
                place.set(batch, headOf(row), queryOf(row), firstKey);
                call.mask.apply(packer, scores, at + r * ROW, staging, place, visible);
            }
            if (visible < padded) {
                Arrays.fill(scores, at + r * ROW + visible, at + r * ROW + padded, Float.NEGATIVE_INFINITY);
            }
        }
    }

    /** {@code m' = max(m, max S)}, and {@code e^(m - m')} for what was summed under the old maximum. */
    private void raiseMaximum(int tile, int keys, int at) {
        int padded = Lanes.roundUp(keys, PANEL);
        for (int r = 0; r < countOf(tile); r++) {
            float before = maximum[tile + r];
            float after = Math.max(before, RowOps.max(scores, at + r * ROW, padded));
            maximum[tile + r] = after;
            rescale[r] = before == after ? 0f : before - after;
        }
        Exp.shifted(rescale, 0, rescale.length, call.scoreScale(), 0f, unused, 0, 0f);
    }

    /** {@code P = e^(S - m')}, {@code l = l e^(m - m') + sum P}, {@code O = O e^(m - m')}. */
    private void exponentiate(KeyBlock block, int tile, int keys, int at) {
        int padded = Lanes.roundUp(keys, PANEL);
        for (int r = 0; r < countOf(tile); r++) {
            int o = (tile + r) * stride;
            if (rescale[r] != 1f) {
                RowOps.scale(output, o, stride, rescale[r]);
            }
            if (block.hasStrays()) {
                block.addStrays(scores, at + r * ROW, keys, output, o, wide);
            }
            // a row that has seen no key keeps m = -inf; shifting by 0 makes its masked scores 0, and NaN stays NaN
            float shift = maximum[tile + r] == Float.NEGATIVE_INFINITY ? 0f : maximum[tile + r];
            Exp.shifted(scores, at + r * ROW, padded, call.scoreScale(), shift, sums, (tile + r) * PANEL, rescale[r]);
        }
    }

    /** {@code O = O + P V}, or {@code O + (M o P) V} with dropout factors M. */
    private void accumulate(KeyBlock block, int tile, long firstKey, int keys, int at) {
        if (call.dropout.drops()) {
            drop(tile, firstKey, keys, at);
            product.left(dropped, 0);
        } else {
            product.left(scores, at);
        }
        product.right(block.valuePanels(), 0, block.valueCount() * PANEL)
                .into(output, tile * stride, stride)
                .accumulate(countOf(tile), call.valueDim, keys, wide);
    }

    /** {@code M o P}, apart from P, which the caller may want as weights. */
    private void drop(int tile, long firstKey, int keys, int at) {
        dropped = Scratch.atLeast(dropped, TILE_FLOATS);
        for (int r = 0; r < countOf(tile); r++) {
            System.arraycopy(scores, at + r * ROW, dropped, r * ROW, keys);
            long counter = AttentionDropout.counter(queryOf(tile + r), batch * call.heads + headOf(tile + r));
            Philox.drop(dropped, r * ROW, keys, firstKey, counter, call.dropout.seed(), call.dropout.rate(), words);
        }
    }

    /**
     * {@code O / l}; a row that saw no key becomes 0. What compensation still holds is added first, so that blocks which add
     * nothing to a row leave its bits alone.
     */
    private void normalise() {
        for (int row = 0; row < rows; row++) {
            float sum = RowOps.total(sums, row * PANEL);
            if (sum == 0f) {
                Arrays.fill(output, row * stride, row * stride + wide, 0f);
            } else {
                RowOps.divide(output, row * stride, wide, wide, sum);
            }
        }
    }

    /** Writes head by head, since a unit's rows may belong to several query heads. */
    private void write(@Nullable Tensor weights) {
        Tensor to = call.output();
        Tensor lse = call.logSumExp();
        for (int row = 0; row < rows; ) {
            int run = runOf(row);
            packer.write(
                    output, row * stride, stride, run, call.valueDim, to, start(to, row), to.stride(2), to.stride(3));
            if (weights != null) {
                for (int r = row; r < row + run; r++) {
                    writeWeights(weights, r);
                }
            }
            if (lse != null) {
                for (int r = row; r < row + run; r++) {
                    double value = (double) call.scoreScale() * maximum[r] + Math.log(sums[r * PANEL]);
                    LogSumExp.write(lse, start(lse, r), value);
                }
            }
            row += run;
        }
    }

    private void writeWeights(Tensor weights, int row) {
        int tile = row / TILE * TILE;
        float sum = sums[row * PANEL];
        for (long firstKey = 0; firstKey < call.keys; firstKey += DEPTH) {
            int blockKeys = (int) Math.min(DEPTH, call.keys - firstKey);
            int held = sum == 0f ? 0 : Math.max(0, keysOf(tile, firstKey, blockKeys));
            int at = scoresOf(tile, firstKey) + (row - tile) * ROW;
            if (held > 0) {
                RowOps.divide(scores, at, Lanes.roundUp(held, PANEL), sum);
            }
            Arrays.fill(scores, at + held, at + blockKeys, 0f);
            long to = start(weights, row) + firstKey * weights.stride(3);
            packer.write(scores, at, ROW, 1, blockKeys, weights, to, 0, weights.stride(3));
        }
    }

    /** How many rows from this one on belong to the same query head. */
    private int runOf(int row) {
        return (int) Math.min(rows - row, call.queries - queryOf(row));
    }

    /** Position of a row's first element in a tensor {@code [batch, queryHeads, queries, ...]}. */
    private long start(Tensor tensor, int row) {
        return tensor.offset()
                + batch * tensor.stride(0)
                + headOf(row) * tensor.stride(1)
                + queryOf(row) * tensor.stride(2);
    }
}

package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Product;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One thread's part of backward: {@code dV += P^T dO}, {@code dK += dS^T Q}, {@code dQ^T += K^T dS^T} over pairs of blocks, each
 * in one chain: chains of 64, as in forward, cost 7 % here and change the error in bounds by less than runs differ.
 */
final class GradientUnit {
    private static final int SCORE_PANEL = KeyRows.MOST * PANEL;

    private final GradientScratch scratch = new GradientScratch();
    private final Scratch memory;
    private final Product product;
    private final GradientTile tile;
    private final KeyRows keys;
    /** dS of a pair: {@code [panel of queries][key][32]}. */
    private final float[] scorePanels = new float[QueryBlock.MOST / PANEL * SCORE_PANEL];

    private QueryBlock[] blocks;
    private float[] keySum = new float[0];
    private float[] valueSum = new float[0];
    private double[] biasSum = new double[0];
    private GradientCall call;
    private long group;

    GradientUnit(Scratch memory) {
        this.memory = memory;
        product = new Product(memory);
        tile = new GradientTile(memory);
        keys = new KeyRows(memory);
        blocks = new QueryBlock[] {new QueryBlock(memory)};
    }

    /** Names the thread's reader and writer of user memory. */
    void use(Packer packer) {
        scratch.packer = packer;
    }

    /** All gradients of one group: key blocks outside, so that dQ of all query blocks is held. */
    void group(GradientCall newCall, long newGroup) {
        begin(newCall, newGroup);
        for (long b = 0; b < call.queryBlocks(); b++) {
            block(b).clearSum(call);
        }
        for (long k = 0; k < call.keyBlocks(); k++) {
            keyBlock(k, true);
        }
        for (long b = 0; b < call.queryBlocks(); b++) {
            writeQuery(block(b));
        }
        end();
    }

    /** dK and dV of one key block. */
    void keys(GradientCall newCall, long newGroup, long keyBlock) {
        begin(newCall, newGroup);
        keyBlock(keyBlock, false);
        end();
    }

    /** dQ of one query block. */
    void queries(GradientCall newCall, long newGroup, long queryBlock) {
        begin(newCall, newGroup);
        QueryBlock queries = blocks[0];
        queries.pack(call, scratch, group, queryBlock * QueryBlock.MOST, call.rowsOf(queryBlock));
        queries.clearSum(call);
        for (long k = 0; k < call.keyBlocks(); k++) {
            packKeys(k);
            pair(queries, false, true);
        }
        writeQuery(queries);
        end();
    }

    /** A part of the bias's gradient. */
    void bias(GradientCall newCall, long unit) {
        BiasPlan plan = newCall.bias;
        BiasPlan.Part part = plan.part(unit);
        biasSum = memory.atLeast(biasSum, part.size());
        Arrays.fill(biasSum, 0, part.size(), 0.0);
        for (long b = part.batch().from(); b < part.batch().to(); b++) {
            for (long h = part.head().from(); h < part.head().to(); h++) {
                begin(newCall, b * newCall.forward.kvHeads + h / newCall.forward.group);
                long firstRow = h % newCall.forward.group * newCall.forward.queries;
                for (long q = part.query().from(); q < part.query().to(); q += QueryBlock.MOST) {
                    int rows = (int) Math.min(QueryBlock.MOST, part.query().to() - q);
                    blocks[0].pack(call, scratch, group, firstRow + q, rows);
                    for (long k = part.key().from(); k < part.key().to(); k += KeyRows.MOST) {
                        packKeys(k / KeyRows.MOST);
                        addBias(part, blocks[0], q);
                    }
                }
            }
        }
        plan.write(part, biasSum, scratch.packer);
        end();
    }

    private void begin(GradientCall newCall, long newGroup) {
        call = newCall;
        group = newGroup;
        tile.begin(call, scratch, group);
    }

    private void end() {
        tile.end();
        call = null;
    }

    /** A query block of this group, packed now unless this thread has packed it before. */
    private QueryBlock block(long index) {
        int at = (int) index;
        while (blocks.length <= at) {
            blocks = Arrays.copyOf(blocks, blocks.length + 1);
            blocks[blocks.length - 1] = new QueryBlock(memory);
        }
        blocks[at].pack(call, scratch, group, index * QueryBlock.MOST, call.rowsOf(index));
        return blocks[at];
    }

    private void packKeys(long block) {
        long first = block * KeyRows.MOST;
        keys.pack(call, scratch.packer, group, first, (int) Math.min(KeyRows.MOST, call.forward.keys - first));
    }

    private void keyBlock(long block, boolean intoQueries) {
        packKeys(block);
        keySum = cleared(keySum, call.forward.headDim);
        valueSum = cleared(valueSum, call.forward.valueDim);
        for (long b = 0; b < call.queryBlocks(); b++) {
            pair(block(b), true, intoQueries);
        }
        writeKeys(call.gradients().key(), keySum, call.forward.headDim, call.forward.scale);
        writeKeys(call.gradients().value(), valueSum, call.forward.valueDim, 1f);
    }

    /** What one pair of blocks contributes; tiles that no query sees are passed over. */
    private void pair(QueryBlock queries, boolean intoKeys, boolean intoQueries) {
        int deep = 0;
        int firstColumn = 0;
        int columns = Lanes.roundUp(queries.count, PANEL);
        for (int first = 0; first < keys.count; first += GradientTile.KEYS) {
            int column = queries.firstSeeing(keys.firstKey + first);
            if (column >= queries.count) {
                break;
            }
            tile.compute(queries, keys, first, column);
            if (intoKeys) {
                addStrays(queries, first, column);
            }
            tile.finish();
            int rows = Math.min(GradientTile.KEYS, keys.count - first);
            if (intoKeys) {
                addToKeys(queries, first, rows, column);
            }
            firstColumn = first == 0 ? column : firstColumn;
            for (int r = 0; intoQueries && r < rows; r++) {
                int to = (first + r) * PANEL;
                ScoreGradient.zeroPanels(column, scorePanels, to, SCORE_PANEL);
                int at = to + column / PANEL * SCORE_PANEL;
                ScoreGradient.toPanels(tile.scores, r * ROW + column, columns - column, scorePanels, at, SCORE_PANEL);
            }
            deep = first + rows;
        }
        if (intoQueries && deep > 0) {
            product.left(keys.turned, 0)
                    .right(scorePanels, firstColumn / PANEL * SCORE_PANEL, SCORE_PANEL)
                    .into(queries.sum, firstColumn, QueryBlock.SUM_ROW)
                    .accumulate(call.forward.headDim, columns - firstColumn, deep, deep, QueryBlock.MOST);
        }
    }

    private void addToKeys(QueryBlock queries, int first, int rows, int column) {
        int depth = queries.count - column;
        int wide = Lanes.roundUp(call.forward.valueDim, PANEL);
        product.left(tile.weights, column)
                .right(queries.gradients, column * PANEL, queries.count * PANEL)
                .into(valueSum, first * 2 * wide, 2 * wide)
                .accumulate(rows, call.forward.valueDim, depth, depth, wide);
        wide = Lanes.roundUp(call.forward.headDim, PANEL);
        product.left(tile.scores, column)
                .right(queries.queries, column * PANEL, queries.count * PANEL)
                .into(keySum, first * 2 * wide, 2 * wide)
                .accumulate(rows, call.forward.headDim, depth, depth, wide);
    }

    /** Gives the elements of dO that are not finite to exactly the keys that their row sees. */
    private void addStrays(QueryBlock queries, int first, int column) {
        int valueDim = call.forward.valueDim;
        int wide = Lanes.roundUp(valueDim, PANEL);
        for (int s = 0; s < queries.strayCount; s++) {
            int query = queries.strays[s];
            for (int k = first; query >= column && k < Math.min(first + GradientTile.KEYS, keys.count); k++) {
                for (int d = 0; tile.sees(query, k - first) && d < valueDim; d++) {
                    valueSum[k * 2 * wide + d] += queries.strayValues[s * valueDim + d];
                }
            }
        }
    }

    /** Adds a pair's dS to the part of the bias's gradient. */
    private void addBias(BiasPlan.Part part, QueryBlock queries, long firstQuery) {
        for (int first = 0; first < keys.count; first += GradientTile.KEYS) {
            int column = queries.firstSeeing(keys.firstKey + first);
            if (column >= queries.count) {
                break;
            }
            tile.compute(queries, keys, first, column);
            tile.finish();
            for (int k = 0; k < Math.min(GradientTile.KEYS, keys.count - first); k++) {
                for (int q = column; q < queries.count; q++) {
                    biasSum[part.at(firstQuery + q, keys.firstKey + first + k)] += tile.scores[k * ROW + q];
                }
            }
        }
    }

    private float[] cleared(float[] sum, int dim) {
        int size = KeyRows.MOST * 2 * Lanes.roundUp(Math.max(1, dim), PANEL);
        float[] result = memory.atLeast(sum, size);
        Arrays.fill(result, 0, size, 0f);
        return result;
    }

    private void writeKeys(@Nullable Tensor to, float[] sum, int dim, float factor) {
        if (to == null) {
            return;
        }
        int wide = Lanes.roundUp(dim, PANEL);
        for (int k = 0; k < keys.count; k++) {
            ScoreGradient.fold(sum, k * 2 * wide, wide, wide, factor);
        }
        long at = call.forward.start(to, group) + keys.firstKey * to.stride(2);
        scratch.packer.write(sum, 0, 2 * wide, keys.count, dim, to, at, to.stride(2), to.stride(3));
    }

    private void writeQuery(QueryBlock queries) {
        Tensor to = call.gradients().query();
        float factor = call.forward.scale * call.forward.queryFactor;
        for (int d = 0; d < call.forward.headDim; d++) {
            ScoreGradient.fold(queries.sum, d * QueryBlock.SUM_ROW, QueryBlock.MOST, QueryBlock.MOST, factor);
        }
        for (int d = 0; d < call.forward.headDim; d += DEPTH) {
            int depth = Math.min(DEPTH, call.forward.headDim - d);
            for (int i = 0; i < depth; i++) {
                for (int q = 0; q < queries.count; q++) {
                    scratch.rows[q * ROW + i] = queries.sum[(d + i) * QueryBlock.SUM_ROW + q];
                }
            }
            for (int row = 0; row < queries.count; ) {
                int run = queries.runOf(call, row);
                long at = call.start(to, group, queries.firstRow + row) + d * to.stride(3);
                scratch.packer.write(scratch.rows, row * ROW, ROW, run, depth, to, at, to.stride(2), to.stride(3));
                row += run;
            }
        }
    }
}

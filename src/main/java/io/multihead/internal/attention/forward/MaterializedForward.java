package io.multihead.internal.attention.forward;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.Stage;
import io.multihead.internal.attention.keyvalue.KeyValueBlock;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.keyvalue.PackedBlocks;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Forward for callers that request weights or scores. It computes all scores of a task, then the softmax over whole rows, with the same
 * steps as the tiled path. Belongs to one thread.
 */
final class MaterializedForward {
    private final QueryTile queries;
    private final VisibleKeys visible;
    private final PackedBlocks blocks;
    private final ScoreTile tile;
    private final UnmaskedScores unmasked;
    private final float[] staging;
    /** For each row of a tile, whether its softmax is NaN because one of its scores is NaN or plus infinity. */
    private final boolean[] isUndefined = new boolean[AttentionBlocking.QUERY_TILE];

    /** Creates an object that uses the parts of its worker. */
    MaterializedForward(QueryTile queries, VisibleKeys visible, PackedBlocks blocks, ScoreTile tile, float[] staging) {
        this.queries = queries;
        this.visible = visible;
        this.blocks = blocks;
        this.tile = tile;
        this.staging = staging;
        unmasked = new UnmaskedScores(queries, blocks, tile, staging);
    }

    /** Fails if the scores of a task, which are held in one array, do not fit in it. */
    static void requireScoresFit(ForwardSchedule schedule, KeyValueSource source, String argument) {
        for (int task = 0; task < schedule.tasks(); task++) {
            long keys = source.keys(schedule.sequence(task));
            if (scoreFloats(keys, schedule.rows(task)) > Checks.MAX_ARRAY_LENGTH) {
                throw Checks.fail(
                        argument,
                        "requested with " + keys + " keys",
                        "expected keys whose scores for " + schedule.rows(task) + " rows fit a Java array");
            }
        }
    }

    /**
     * Returns the size, in floats, of the buffer for all scores of a task. The micro-kernel for int8 panels always stores four rows. For a
     * single query, the scores of the next blocks overwrite the other three rows. After the last block, padding holds these rows.
     */
    private static long scoreFloats(long keys, int rows) {
        int padding = rows == 1 ? (MicroKernel.MR_SMALL - 1) * ROW : 0;
        return Math.ceilDiv(keys, (long) AttentionBlocking.KEY_BLOCK) * blockFloats(rows) + padding;
    }

    /**
     * Returns the number of floats of one key block's scores: whole micro-tiles, except that the scores of a single row are contiguous.
     */
    private static int blockFloats(int rows) {
        return (rows == 1 ? 1 : Lanes.roundUp(rows, Lanes.ROW_STEP)) * ROW;
    }

    /** Computes all scores, then the weights and the output; writes scores before the softmax if they are requested. */
    void attend(ForwardArguments call, Packer packer, OnlineSoftmax softmax) {
        unmasked.write(call, packer);
        multiplyKeys(call, packer, softmax);
        Tensor scores = call.tensors.scores(Stage.MASKED);
        if (scores != null) {
            writeScores(call, packer, scores);
        }
        if (call.mask.hidesSingleKeys()) {
            spreadNaN(call);
        }
        accumulate(call, packer, softmax);
    }

    private void multiplyKeys(ForwardArguments call, Packer packer, OnlineSoftmax softmax) {
        long keys = call.source().keys(queries.group().sequence());
        tile.reserve((int) scoreFloats(keys, queries.rows()));
        for (long firstKey = visible.firstBlock(); firstKey < visible.end(); firstKey += AttentionBlocking.KEY_BLOCK) {
            KeyValueBlock block = blocks.block(firstKey, keysOf(firstKey));
            block.packKeys(packer, staging);
            for (int row = 0; row < queries.rows(); row += AttentionBlocking.QUERY_TILE) {
                int tileKeys = tileKeys(call, row, queries.tileRows(row), firstKey);
                if (tileKeys > 0) {
                    int at = scoresOf(row, firstKey);
                    tile.multiplyKeys(call, packer, block, row, firstKey, tileKeys, at);
                    softmax.raiseMaximum(tile.scores(), at, row, queries.tileRows(row), tileKeys);
                }
            }
        }
    }

    /** Sets NaN for every key that a row without softmax sees, while the scores still show the keys that the mask hides. */
    private void spreadNaN(ForwardArguments call) {
        for (int first = 0; first < queries.rows(); first += AttentionBlocking.QUERY_TILE) {
            int rows = queries.tileRows(first);
            Arrays.fill(isUndefined, 0, rows, false);
            for (long key = visible.firstBlock(); key < visible.end(); key += AttentionBlocking.KEY_BLOCK) {
                int held = heldKeys(call, first, key);
                for (int r = 0; r < rows; r++) {
                    isUndefined[r] |= RowOps.hasNoSoftmax(tile.scores(), scoresOf(first + r, key), held);
                }
            }
            for (long key = visible.firstBlock(); key < visible.end(); key += AttentionBlocking.KEY_BLOCK) {
                int held = heldKeys(call, first, key);
                for (int r = 0; r < rows; r++) {
                    if (isUndefined[r]) {
                        RowOps.spreadNaN(tile.scores(), scoresOf(first + r, key), held);
                    }
                }
            }
        }
    }

    private void accumulate(ForwardArguments call, Packer packer, OnlineSoftmax softmax) {
        softmax.keepMaximum();
        for (long firstKey = visible.firstBlock(); firstKey < visible.end(); firstKey += AttentionBlocking.KEY_BLOCK) {
            KeyValueBlock block = blocks.block(firstKey, keysOf(firstKey));
            block.packValues(packer, staging);
            for (int row = 0; row < queries.rows(); row += AttentionBlocking.QUERY_TILE) {
                int tileKeys = tileKeys(call, row, queries.tileRows(row), firstKey);
                if (tileKeys > 0) {
                    tile.accumulate(call, block, softmax, row, firstKey, tileKeys, scoresOf(row, firstKey));
                }
            }
        }
    }

    /** Writes the masked scores, scaled, and minus infinity for keys that a row does not see. */
    private void writeScores(ForwardArguments call, Packer packer, Tensor scores) {
        float scale = call.problem.scores().exponentScale();
        for (int first = 0; first < queries.rows(); first += AttentionBlocking.QUERY_TILE) {
            for (long firstKey = 0; firstKey < call.problem.keys(); firstKey += AttentionBlocking.KEY_BLOCK) {
                int held = heldKeys(call, first, firstKey);
                int keys = blockKeys(call, firstKey);
                for (int r = 0; r < queries.tileRows(first); r++) {
                    if (held > 0) {
                        // the scores are scaled in a copy: the softmax reads them after this step, and may scale them,
                        // too
                        System.arraycopy(tile.scores(), scoresOf(first, firstKey) + r * ROW, staging, 0, held);
                        RowOps.scale(staging, 0, Lanes.roundUp(held, PANEL), scale);
                    }
                    Arrays.fill(staging, held, keys, Float.NEGATIVE_INFINITY);
                    queries.writeRow(packer, staging, 0, keys, scores, first + r, firstKey);
                }
            }
        }
    }

    /** Writes {@code P / l}, and 0 for keys that a row does not see, including keys beyond its sequence. */
    void writeWeights(ForwardArguments call, Packer packer, OutputWriter writer) {
        Tensor weights = call.tensors.weights();
        Tensor scores = call.tensors.scores(Stage.WEIGHTS);
        if (weights == null && scores == null) {
            return;
        }
        for (int first = 0; first < queries.rows(); first += AttentionBlocking.QUERY_TILE) {
            for (long firstKey = 0; firstKey < call.problem.keys(); firstKey += AttentionBlocking.KEY_BLOCK) {
                int held = heldKeys(call, first, firstKey);
                int keys = blockKeys(call, firstKey);
                for (int row = first; row < first + queries.tileRows(first); row++) {
                    float divisor = writer.divisor(row);
                    int own = divisor != 0f && held > 0 ? tileKeys(call, row, 1, firstKey) : 0;
                    float[] from = own > 0 ? tile.scores() : staging;
                    int at = own > 0 ? scoresOf(first, firstKey) + (row - first) * ROW : 0;
                    if (own > 0) {
                        normalize(call.mask, from, at, Lanes.roundUp(own, PANEL), divisor);
                    }
                    // in a row without softmax, P is NaN also for the keys before and after its own
                    Arrays.fill(from, at, at + visible.firstOf(row, firstKey, own), 0f);
                    Arrays.fill(from, at + own, at + keys, 0f);
                    if (weights != null) {
                        queries.writeRow(packer, from, at, keys, weights, row, firstKey);
                    }
                    if (scores != null) {
                        queries.writeRow(packer, from, at, keys, scores, row, firstKey);
                    }
                }
            }
        }
    }

    /** Divides a row's weights; in a row without softmax they are already NaN, or 0 for keys that the mask hides. */
    private static void normalize(BoundMask mask, float[] weights, int at, int length, float divisor) {
        if (!Float.isNaN(divisor) || !mask.hidesSingleKeys()) {
            RowOps.divide(weights, at, length, divisor);
        }
    }

    /** Returns the number of scores of a tile's rows and a block that are held, counted from the block's first key. */
    private int heldKeys(ForwardArguments call, int firstRow, long firstKey) {
        boolean multiplied = firstKey >= visible.firstBlock() && firstKey < visible.end();
        return multiplied ? tileKeys(call, firstRow, queries.tileRows(firstRow), firstKey) : 0;
    }

    /** Returns the number of columns of a block in tensors of weights and scores, including columns beyond the sequence. */
    private static int blockKeys(ForwardArguments call, long firstKey) {
        return (int) Math.min(AttentionBlocking.KEY_BLOCK, call.problem.keys() - firstKey);
    }

    private int keysOf(long firstKey) {
        return (int) Math.min(AttentionBlocking.KEY_BLOCK, visible.end() - firstKey);
    }

    private int tileKeys(ForwardArguments call, int row, int rows, long firstKey) {
        return visible.keysOf(row, rows, queries, call.mask, firstKey, keysOf(firstKey));
    }

    /** Returns the index of the first score of a tile and a key block. */
    private int scoresOf(int row, long firstKey) {
        return (int) (firstKey / AttentionBlocking.KEY_BLOCK) * blockFloats(queries.rows()) + row * ROW;
    }
}

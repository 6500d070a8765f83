package io.multihead.internal.attention.forward;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.Blocking;
import io.multihead.internal.attention.keyvalue.KeyValueBlock;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.keyvalue.PackedBlocks;
import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Forward for callers who ask for weights: all scores of a task first, then the softmax over whole rows, by the same steps as
 * the tiled path. Belongs to one thread.
 */
final class MaterialisedForward {
    private final QueryTile queries;
    private final VisibleKeys visible;
    private final PackedBlocks blocks;
    private final ScoreTile tile;
    private final float[] staging;

    /** Takes the parts of the worker that it belongs to. */
    MaterialisedForward(QueryTile queries, VisibleKeys visible, PackedBlocks blocks, ScoreTile tile, float[] staging) {
        this.queries = queries;
        this.visible = visible;
        this.blocks = blocks;
        this.tile = tile;
        this.staging = staging;
    }

    /** Fails if the scores of a task, which are held in one array, do not fit one. */
    static void requireScoresFit(ForwardSchedule schedule, KeyValueSource source) {
        for (int task = 0; task < schedule.tasks(); task++) {
            long keys = source.keys(schedule.sequence(task));
            if (scoreFloats(keys, schedule.rows(task)) > Checks.MAX_ARRAY_LENGTH) {
                throw Checks.fail(
                        "weights",
                        "asked for with " + keys + " keys",
                        "expected keys whose scores for " + schedule.rows(task) + " rows fit a Java array");
            }
        }
    }

    /** Returns the floats that hold all scores of a task. */
    private static long scoreFloats(long keys, int rows) {
        return Math.ceilDiv(keys, (long) Blocking.KEY_BLOCK) * blockFloats(rows);
    }

    /** Returns the floats of one key block's scores: whole micro-tiles, but a single row is multiplied alone. */
    private static int blockFloats(int rows) {
        return (rows == 1 ? 1 : Lanes.roundUp(rows, Lanes.ROW_STEP)) * ROW;
    }

    /** Computes all scores, then the weights and the output. */
    void attend(ForwardArguments call, Packer packer, OnlineSoftmax softmax) {
        long keys = call.source().keys(queries.group().sequence());
        tile.reserve((int) scoreFloats(keys, queries.rows()));
        for (long firstKey = visible.firstBlock(); firstKey < visible.end(); firstKey += Blocking.KEY_BLOCK) {
            KeyValueBlock block = blocks.block(firstKey, keysOf(firstKey));
            block.packKeys(packer, staging);
            for (int row = 0; row < queries.rows(); row += Blocking.QUERY_TILE) {
                int tileKeys = tileKeys(call, row, firstKey);
                if (tileKeys > 0) {
                    int at = scoresOf(row, firstKey);
                    tile.multiplyKeys(call, packer, block, row, firstKey, tileKeys, at);
                    softmax.raiseMaximum(tile.scores(), at, row, queries.tileRows(row), tileKeys);
                }
            }
        }
        softmax.keepMaximum();
        for (long firstKey = visible.firstBlock(); firstKey < visible.end(); firstKey += Blocking.KEY_BLOCK) {
            KeyValueBlock block = blocks.block(firstKey, keysOf(firstKey));
            block.packValues(packer, staging);
            for (int row = 0; row < queries.rows(); row += Blocking.QUERY_TILE) {
                int tileKeys = tileKeys(call, row, firstKey);
                if (tileKeys > 0) {
                    tile.accumulate(call, block, softmax, row, firstKey, tileKeys, scoresOf(row, firstKey));
                }
            }
        }
    }

    /** Writes {@code P / l}, and 0 for keys that a row does not see, those beyond its sequence included. */
    void writeWeights(ForwardArguments call, Packer packer, Tensor weights, OutputWriter writer) {
        for (int row = 0; row < queries.rows(); row++) {
            writeRow(call, packer, weights, row, writer.divisor(row));
        }
    }

    private void writeRow(ForwardArguments call, Packer packer, Tensor weights, int row, float divisor) {
        AttentionProblem problem = call.problem;
        int first = row / Blocking.QUERY_TILE * Blocking.QUERY_TILE;
        for (long firstKey = 0; firstKey < problem.keys(); firstKey += Blocking.KEY_BLOCK) {
            int blockKeys = (int) Math.min(Blocking.KEY_BLOCK, problem.keys() - firstKey);
            boolean multiplied = firstKey >= visible.firstBlock() && firstKey < visible.end();
            int held = divisor != 0f && multiplied ? tileKeys(call, first, firstKey) : 0;
            float[] from = held > 0 ? tile.scores() : staging;
            int at = held > 0 ? scoresOf(first, firstKey) + (row - first) * ROW : 0;
            if (held > 0) {
                RowOps.divide(from, at, Lanes.roundUp(held, PANEL), divisor);
            }
            Arrays.fill(from, at + held, at + blockKeys, 0f);
            long to = queries.position(weights, row) + firstKey * weights.stride(3);
            packer.write(from, at, ROW, 1, blockKeys, weights, to, 0, weights.stride(3));
        }
    }

    private int keysOf(long firstKey) {
        return (int) Math.min(Blocking.KEY_BLOCK, visible.end() - firstKey);
    }

    private int tileKeys(ForwardArguments call, int row, long firstKey) {
        return visible.keysOf(row, queries, call.mask, firstKey, keysOf(firstKey));
    }

    /** Returns where the scores of a tile and a key block start. */
    private int scoresOf(int row, long firstKey) {
        return (int) (firstKey / Blocking.KEY_BLOCK) * blockFloats(queries.rows()) + row * ROW;
    }
}

package io.multihead.internal.attention.forward;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.ScoreRule;
import io.multihead.internal.attention.Stage;
import io.multihead.internal.attention.keyvalue.KeyValueBlock;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.keyvalue.PackedBlocks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreOps;
import io.multihead.internal.layout.Packer;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Scores before the mask, for callers that request them. They are computed separately from the scores that the softmax reads, which lack
 * the tiles that the mask hides; elements of both have the same bits. Belongs to one thread.
 */
final class UnmaskedScores {
    private final QueryTile queries;
    private final PackedBlocks blocks;
    private final ScoreTile tile;
    private final float[] staging;

    /** Creates an object that uses the parts of its worker. */
    UnmaskedScores(QueryTile queries, PackedBlocks blocks, ScoreTile tile, float[] staging) {
        this.queries = queries;
        this.blocks = blocks;
        this.tile = tile;
        this.staging = staging;
    }

    /** Writes the scores of all rows if a stage before the mask is requested; minus infinity for keys that are not stored. */
    void write(ForwardArguments call, Packer packer) {
        Tensor capped = call.tensors.scores(Stage.CAPPED);
        Tensor to = capped != null ? capped : call.tensors.scores(Stage.SCALED);
        if (to == null) {
            return;
        }
        KeyValueSource source = call.source();
        int sequence = queries.group().sequence();
        tile.reserveTile();
        for (long firstKey = 0; firstKey < call.problem.keys(); firstKey += AttentionBlocking.KEY_BLOCK) {
            int columns = (int) Math.min(AttentionBlocking.KEY_BLOCK, call.problem.keys() - firstKey);
            int from = Math.clamp(source.firstKey(sequence) - firstKey, 0, columns);
            int end = Math.clamp(source.keys(sequence) - firstKey, from, columns);
            KeyValueBlock block = from < end ? blocks.block(firstKey, end) : null;
            if (block != null) {
                block.packKeys(packer, staging);
            }
            for (int row = 0; row < queries.rows(); row += AttentionBlocking.QUERY_TILE) {
                if (block != null) {
                    tile.multiplyUnmasked(block, row, end, 0);
                }
                for (int r = 0; r < queries.tileRows(row); r++) {
                    finishRow(call.problem.scores(), capped != null, r * ROW, from, end, columns);
                    queries.writeRow(packer, tile.scores(), r * ROW, columns, to, row + r, firstKey);
                }
            }
        }
    }

    /** Scales a row, caps it if requested, and fills in scores that are not stored. */
    private void finishRow(ScoreRule rule, boolean caps, int at, int from, int end, int columns) {
        float[] scores = tile.scores();
        int padded = Lanes.roundUp(end, PANEL);
        if (from < end) {
            RowOps.scale(scores, at, padded, rule.scale());
            if (caps && rule.softCap() != 0) {
                ScoreOps.softCap(scores, at, padded, (float) rule.softCap());
            }
        }
        Arrays.fill(scores, at, at + from, Float.NEGATIVE_INFINITY);
        Arrays.fill(scores, at + end, at + columns, Float.NEGATIVE_INFINITY);
    }
}

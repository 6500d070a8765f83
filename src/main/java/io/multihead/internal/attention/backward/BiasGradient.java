package io.multihead.internal.attention.backward;

import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** A part of the gradient of a bias: the sum of dS, in f64. Belongs to one thread. */
final class BiasGradient {
    private final Scratch memory;
    private final HeadGroup group = new HeadGroup();
    private double[] sums = new double[0];

    BiasGradient(Scratch memory) {
        this.memory = memory;
    }

    /** Computes and writes one part; the blocks and the tile are the worker's. */
    void compute(
            BackwardArguments call,
            BiasGradientSchedule schedule,
            BiasGradientSchedule.Part part,
            Tensor to,
            Staging staging,
            PackedQueries queries,
            PackedKeys keys,
            ScoreGradientTile tile) {
        sums = memory.atLeast(sums, part.size());
        Arrays.fill(sums, 0, part.size(), 0.0);
        long heads = call.problem.headsPerGroup();
        for (long b = part.batch().from(); b < part.batch().to(); b++) {
            for (long h = part.head().from(); h < part.head().to(); h++) {
                group.bind(call.problem, (int) b, (int) (h / heads));
                long firstRow = h % heads * call.problem.queries();
                for (long q = part.query().from(); q < part.query().to(); q += AttentionBlocking.BACKWARD_QUERIES) {
                    int rows = (int) Math.min(
                            AttentionBlocking.BACKWARD_QUERIES, part.query().to() - q);
                    queries.pack(call, staging, group, firstRow + q, rows);
                    for (long k = part.key().from(); k < part.key().to(); k += AttentionBlocking.BACKWARD_KEYS) {
                        keys.pack(call, staging, group, k / AttentionBlocking.BACKWARD_KEYS);
                        addPair(call, part, staging.packer(), queries, keys, tile, q);
                    }
                }
            }
        }
        write(schedule, part, to);
    }

    /** Drops the reference to the call. */
    void release() {
        group.release();
    }

    /** Adds dS of one pair of blocks. */
    private void addPair(
            BackwardArguments call,
            BiasGradientSchedule.Part part,
            Packer packer,
            PackedQueries queries,
            PackedKeys keys,
            ScoreGradientTile tile,
            long firstQuery) {
        for (int first = 0; first < keys.count; first += AttentionBlocking.BACKWARD_KEY_TILE) {
            if (!tile.compute(call, packer, group, queries, keys, first)) {
                continue;
            }
            tile.finish(call, packer, group, queries);
            float[] dS = tile.dS();
            for (int k = 0; k < tile.count(); k++) {
                for (int q = tile.column(); q < Math.min(tile.end(), queries.count); q++) {
                    sums[part.at(firstQuery + q, keys.firstKey + first + k)] += dS[k * ROW + q];
                }
            }
        }
    }

    /** Writes the sums, each rounded once from double to the gradient's element type. */
    private void write(BiasGradientSchedule schedule, BiasGradientSchedule.Part part, Tensor to) {
        for (int r = 0; r < part.rows(); r++) {
            long at = schedule.position(to, part, r);
            for (int c = 0; c < part.columns(); c++) {
                Positions.set(to, sums[r * part.columns() + c], at + c * schedule.keyStride());
            }
        }
    }
}

package io.multihead.internal.attention.backward;

import static io.multihead.internal.attention.AttentionBlocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.gemm.MacroKernel;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.kernel.Transposition;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Positions;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One thread's backward: {@code dV += P^T dO}, {@code dK += dS^T Q}, {@code dQ^T += K^T dS^T} over pairs of blocks (Dao 2023, algorithm 2).
 * Each product is one chain. Chains of 64, as in forward, cost 7 % here and change the error in units by less than the difference between
 * runs. Under a soft-cap, dX replaces dS.
 */
final class BackwardWorker {
    private static final int DS_PANEL = AttentionBlocking.BACKWARD_KEYS * PANEL;

    private final Staging staging;
    private final Scratch memory;
    private final MacroKernel product;
    private final HeadGroup group = new HeadGroup();
    private final ScoreGradientTile tile;
    private final PackedKeys keys;
    private final BiasGradient bias;
    private final SeenColumns seen = new SeenColumns();
    /** dX^T of a pair as right operand: {@code [panel of queries][key][32]}. */
    private PanelMemory dSPanels = PanelMemory.NONE;
    /** The panels that are multiplied next. */
    private final Panels right = new Panels();

    /** Blocks of the group's query rows, kept while the loop runs over key blocks. */
    private PackedQueries[] blocks;
    /** dK and dV of one key block: rows of sums, each followed by its compensation terms. */
    private float[] keySum = new float[0];

    private float[] valueSum = new float[0];

    BackwardWorker(Scratch memory) {
        this.memory = memory;
        staging = new Staging(memory);
        product = new MacroKernel(memory);
        tile = new ScoreGradientTile(memory);
        keys = new PackedKeys(memory);
        bias = new BiasGradient(memory);
        blocks = new PackedQueries[] {new PackedQueries(memory)};
    }

    /**
     * Begins a task with the thread's reader and writer of user memory.
     *
     * @param tasksPerThread the number of tasks of a thread, which is the largest number of heads whose rows are read together
     */
    void bind(AttentionProblem problem, int sequence, int keyValueHead, Packer packer, int tasksPerThread) {
        group.bind(problem, sequence, keyValueHead);
        staging.bind(packer, tasksPerThread);
    }

    /** Ends a task and drops every reference to the caller's memory. */
    void release() {
        group.release();
        bias.release();
        staging.release();
        product.release();
        right.clear();
        tile.release();
    }

    /** Computes all gradients of one head group, with key blocks in the outer loop, so that dQ of all query blocks is in memory. */
    void group(BackwardArguments call) {
        long queryBlocks = BackwardSchedule.queryBlocks(call.problem);
        for (long b = 0; b < queryBlocks; b++) {
            block(call, b).clearGradient(call.problem.headDim());
        }
        for (long k = 0; k < BackwardSchedule.keyBlocks(call.problem); k++) {
            keyBlock(call, k, true);
        }
        for (long b = 0; b < queryBlocks; b++) {
            writeQuery(call, block(call, b));
        }
    }

    /** Computes dK and dV of one key block, and adds to dQ of the query blocks if requested. */
    void keyBlock(BackwardArguments call, long block, boolean intoQueries) {
        AttentionProblem problem = call.problem;
        keys.pack(call, staging, group, block);
        keySum = cleared(keySum, keys.count, problem.headDim());
        valueSum = cleared(valueSum, keys.count, problem.valueDim());
        for (long b = 0; b < BackwardSchedule.queryBlocks(problem); b++) {
            pair(call, block(call, b), true, intoQueries);
        }
        writeKeys(
                call.keyGradient(), keySum, problem.headDim(), problem.scores().scale());
        writeKeys(call.valueGradient(), valueSum, problem.valueDim(), 1f);
    }

    /** Computes dQ of one query block. */
    void queryBlock(BackwardArguments call, long block) {
        PackedQueries queries = blocks[0];
        pack(call, queries, block);
        queries.clearGradient(call.problem.headDim());
        for (long k = 0; k < BackwardSchedule.keyBlocks(call.problem); k++) {
            if (seen.find(call.mask, group, queries, k * AttentionBlocking.BACKWARD_KEYS, keysOf(call.problem, k))) {
                keys.pack(call, staging, group, k);
                pair(call, queries, false, true);
            }
        }
        writeQuery(call, queries);
    }

    private static int keysOf(AttentionProblem problem, long block) {
        return (int)
                Math.min(AttentionBlocking.BACKWARD_KEYS, problem.keys() - block * AttentionBlocking.BACKWARD_KEYS);
    }

    void bias(BackwardArguments call, BiasGradientSchedule schedule, long task, Tensor to, Packer packer) {
        staging.bind(packer, 1);
        bias.compute(call, schedule, schedule.part(task), to, staging, blocks[0], keys, tile);
    }

    /**
     * Computes the gradient of a head's sink, {@code sum P_sink (0 - D)} over batch and queries in f64: the sink has no value, so its dP is
     * 0.
     */
    void sink(BackwardArguments call, long head, Tensor to, Packer packer) {
        AttentionProblem problem = call.problem;
        staging.bind(packer, 1);
        double sink = problem.scores().sink(head);
        double sum = 0;
        for (int b = 0; b < problem.sequences(); b++) {
            group.bind(problem, b, (int) (head / problem.headsPerGroup()));
            long firstRow = head % problem.headsPerGroup() * problem.queries();
            for (long q = 0; q < problem.queries(); q += AttentionBlocking.BACKWARD_QUERIES) {
                int rows = (int) Math.min(AttentionBlocking.BACKWARD_QUERIES, problem.queries() - q);
                blocks[0].pack(call, staging, group, firstRow + q, rows);
                for (int r = 0; sink != Double.NEGATIVE_INFINITY && r < rows; r++) {
                    sum -= StrictMath.exp(sink - blocks[0].logSumExp(r)) * blocks[0].mean(r);
                }
            }
        }
        Positions.set(to, sum, to.offset() + head * to.stride(0));
    }

    /** Returns a query block of this group, and packs the block unless this thread has packed it before. */
    private PackedQueries block(BackwardArguments call, long index) {
        int at = (int) index;
        while (blocks.length <= at) {
            blocks = Arrays.copyOf(blocks, blocks.length + 1);
            blocks[blocks.length - 1] = new PackedQueries(memory);
        }
        pack(call, blocks[at], index);
        return blocks[at];
    }

    private void pack(BackwardArguments call, PackedQueries block, long index) {
        long firstRow = index * AttentionBlocking.BACKWARD_QUERIES;
        int rows = (int) Math.min(AttentionBlocking.BACKWARD_QUERIES, group.rows() - firstRow);
        block.pack(call, staging, group, firstRow, rows);
    }

    /** Adds the contributions of one pair of blocks; tiles that no query sees are skipped. */
    private void pair(BackwardArguments call, PackedQueries queries, boolean intoKeys, boolean intoQueries) {
        dSPanels = memory.atLeast(dSPanels, AttentionBlocking.BACKWARD_QUERIES / PANEL * DS_PANEL);
        int from = AttentionBlocking.BACKWARD_KEYS;
        int to = 0;
        int low = AttentionBlocking.BACKWARD_QUERIES;
        int high = 0;
        for (int first = 0; first < keys.count; first += AttentionBlocking.BACKWARD_KEY_TILE) {
            if (!tile.compute(call, staging.packer(), group, queries, keys, first)) {
                continue;
            }
            if (intoKeys) {
                addNonFinite(queries, first, call.problem.valueDim());
            }
            tile.finish(call, staging.packer(), group, queries);
            tile.throughCap(call.problem.scores());
            if (intoKeys) {
                addToKeys(call.problem, queries, first);
            }
            if (intoQueries) {
                storePanels(first, queries.width());
            }
            from = Math.min(from, first);
            to = first + tile.count();
            low = Math.min(low, tile.column());
            high = Math.max(high, tile.end());
        }
        // a block has two tiles: the tiles that are seen are consecutive, so every row of the panels has been written
        if (intoQueries && from < to) {
            product.left(keys.transposedKeys, from)
                    .right(right.set(dSPanels, low / PANEL * DS_PANEL + from * PANEL, DS_PANEL))
                    .into(queries.queryGradient, low, PackedQueries.SUM_ROW)
                    .addCompensated(
                            call.problem.headDim(),
                            high - low,
                            to - from,
                            to - from,
                            AttentionBlocking.BACKWARD_QUERIES);
        }
    }

    /** Stores dX of the tile as panels, with zeros in the columns that see none of its keys. */
    private void storePanels(int first, int columns) {
        int column = tile.column();
        int end = tile.end();
        for (int r = 0; (column > 0 || end < columns) && r < tile.count(); r++) {
            int at = (first + r) * PANEL;
            dSPanels.zeroRow(column, at, DS_PANEL);
            dSPanels.zeroRow(columns - end, at + end / PANEL * DS_PANEL, DS_PANEL);
        }
        int to = column / PANEL * DS_PANEL + first * PANEL;
        dSPanels.packRows(tile.dS(), column, ROW, tile.count(), end - column, to, AttentionBlocking.BACKWARD_KEYS);
    }

    /** Adds {@code P^T dO} to dV and {@code dX^T Q} to dK. */
    private void addToKeys(AttentionProblem problem, PackedQueries queries, int first) {
        int column = tile.column();
        int depth = Math.min(tile.end(), queries.count) - column;
        int width = Lanes.roundUp(problem.valueDim(), PANEL);
        product.left(tile.p(), column)
                .right(right.set(queries.gradientRows, column * PANEL, queries.count * PANEL))
                .into(valueSum, first * 2 * width, 2 * width)
                .addCompensated(tile.count(), problem.valueDim(), depth, depth, width);
        width = Lanes.roundUp(problem.headDim(), PANEL);
        product.left(tile.dS(), column)
                .right(right.set(queries.queryRows, column * PANEL, queries.count * PANEL))
                .into(keySum, first * 2 * width, 2 * width)
                .addCompensated(tile.count(), problem.headDim(), depth, depth, width);
    }

    /** Adds the non-finite elements of dO to dV of exactly the keys that their row sees. */
    private void addNonFinite(PackedQueries queries, int first, int valueDim) {
        int width = Lanes.roundUp(valueDim, PANEL);
        for (int i = 0; i < queries.nonFiniteCount; i++) {
            int query = queries.nonFiniteRows[i];
            for (int k = 0; k < tile.count(); k++) {
                for (int d = 0; tile.sees(query, k) && d < valueDim; d++) {
                    valueSum[(first + k) * 2 * width + d] += queries.nonFiniteValues[i * valueDim + d];
                }
            }
        }
    }

    private float[] cleared(float[] sum, int count, int dim) {
        int row = 2 * Lanes.roundUp(Math.max(1, dim), PANEL);
        float[] result = memory.atLeast(sum, AttentionBlocking.BACKWARD_KEYS * row);
        Arrays.fill(result, 0, count * row, 0f);
        return result;
    }

    private void writeKeys(@Nullable Tensor to, float[] sum, int dim, float factor) {
        if (to == null) {
            return;
        }
        int width = Lanes.roundUp(dim, PANEL);
        ScoreGradient.fold(sum, keys.count, 2 * width, width, width, factor);
        long at = group.keyPosition(to, keys.firstKey);
        staging.packer().write(sum, 0, 2 * width, keys.count, dim, to, at, to.stride(2), to.stride(3));
    }

    /** Transposes dQ^T chunk by chunk and writes it. */
    private void writeQuery(BackwardArguments call, PackedQueries queries) {
        Tensor to = call.gradients.query();
        int headDim = call.problem.headDim();
        float[] sum = queries.queryGradient;
        float factor = call.problem.scores().scale() * call.problem.scores().queryFactor();
        ScoreGradient.fold(
                sum, headDim, PackedQueries.SUM_ROW, AttentionBlocking.BACKWARD_QUERIES, queries.width(), factor);
        for (int d = 0; d < headDim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, headDim - d);
            int from = d * PackedQueries.SUM_ROW;
            Transposition.of(sum, from, PackedQueries.SUM_ROW, depth, queries.count, staging.rows, 0, ROW);
            for (int row = 0; row < queries.count; ) {
                int run = queries.rowsOfHead(group, row);
                long at = group.position(to, queries.firstRow + row) + d * to.stride(3);
                staging.packer().write(staging.rows, row * ROW, ROW, run, depth, to, at, to.stride(2), to.stride(3));
                row += run;
            }
        }
    }
}

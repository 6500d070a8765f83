package io.multihead.internal.attention.backward;

import static io.multihead.internal.attention.Blocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.Blocking;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.attention.ScoreRule;
import io.multihead.internal.attention.mask.ScoreIndex;
import io.multihead.internal.gemm.MacroKernel;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.random.Philox;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Weights and score gradients of up to 64 keys and 256 queries, transposed: {@code S^T = K Q^T}, {@code dP^T = V dO^T}, then
 * {@code P = e^(scale S - lse)} and {@code dS = P o (dP - D)} (Dao 2023, algorithm 2). Rows are keys, so that log-sum-exp and
 * D are vectors. Belongs to one thread.
 */
final class ScoreGradientTile {
    private static final int KEYS = Blocking.BACKWARD_KEY_TILE;

    private final Scratch memory;
    private final MacroKernel product;
    /** {@code [key][ROW]}: S after {@link #compute}, then {@code M o P}. */
    private final float[] sThenP = new float[KEYS * ROW];
    /** {@code [key][ROW]}: dP after {@link #compute}, then dS. */
    private final float[] dPThenDS = new float[KEYS * ROW];
    /** Biases that are added to scores, then the gradient of the weights: {@code [key][ROW]}. */
    private final float[] transposed = new float[KEYS * ROW];
    /** Per query the end of the keys it sees, counted from the tile's first. */
    private final float[] ends = new float[Blocking.BACKWARD_QUERIES];
    /** Rounding errors of the exponents of a row, followed by an unused output of Exp.shifted. */
    private final float[] exponentErrors = new float[ROW + PANEL];

    private final float[] row = new float[Lanes.roundUp(KEYS, PANEL)];
    private final float[] staging = new float[Lanes.roundUp(KEYS, PANEL)];
    private final int[] words = new int[4];
    private final ScoreIndex index = new ScoreIndex();

    /** Factors of dropout: {@code [key][ROW]}. */
    private float[] factors = new float[0];

    private long firstKey;
    private int count;
    private int column;
    private int width;

    ScoreGradientTile(Scratch memory) {
        this.memory = memory;
        product = new MacroKernel(memory);
    }

    /**
     * Computes S and dP, masked, of the keys {@code first} on of a block, and of the query columns from {@code firstColumn} on, a
     * whole panel that some key is seen from.
     */
    void compute(
            BackwardArguments call,
            Packer packer,
            HeadGroup group,
            PackedQueries queries,
            PackedKeys keys,
            int first,
            int firstColumn) {
        firstKey = keys.firstKey + first;
        count = Math.min(KEYS, keys.count - first);
        column = firstColumn;
        width = Lanes.roundUp(queries.count, PANEL) - column;
        multiply(keys.keys, first, queries.queryColumns, call.problem.headDim(), sThenP);
        multiply(keys.values, first, queries.gradientColumns, call.problem.valueDim(), dPThenDS);
        mask(call, packer, group, queries);
    }

    /** Turns S into {@code M o P} and dP into dS; {@link #compute} comes first. */
    void finish(BackwardArguments call, Packer packer, HeadGroup group, PackedQueries queries) {
        ScoreRule rule = call.problem.scores();
        boolean drops = rule.drops();
        if (drops) {
            drawDropout(rule, group, queries);
        }
        Tensor weightsGradient = call.gradients.weights();
        if (weightsGradient != null) {
            readWeightsGradient(weightsGradient, packer, group, queries);
        }
        float scale = rule.exponentScale();
        for (int r = 0; r < count; r++) {
            int at = r * ROW + column;
            if (drops) {
                RowOps.multiply(dPThenDS, at, width, factors, at);
            }
            if (weightsGradient != null) {
                RowOps.add(dPThenDS, at, width, transposed, at);
            }
            ScoreGradient.of(
                    sThenP,
                    dPThenDS,
                    at,
                    width,
                    scale,
                    queries.statistics,
                    Blocking.BACKWARD_QUERIES,
                    column,
                    exponentErrors);
            if (drops) {
                RowOps.multiply(sThenP, at, width, factors, at);
            }
        }
    }

    /** Returns {@code M o P}, {@code [key][ROW]}, after {@link #finish}. */
    float[] p() {
        return sThenP;
    }

    /** Returns dS, {@code [key][ROW]}, after {@link #finish}. */
    float[] dS() {
        return dPThenDS;
    }

    /** Returns the number of keys. */
    int count() {
        return count;
    }

    /** Returns whether a query sees a key; between {@link #compute} and {@link #finish}. */
    boolean sees(int query, int key) {
        return sThenP[key * ROW + query] != Float.NEGATIVE_INFINITY;
    }

    /** Drops every reference to memory of others. */
    void release() {
        product.release();
    }

    private void multiply(float[] rows, int first, float[] panels, int dim, float[] to) {
        if (dim == 0) {
            Arrays.fill(to, 0f);
        }
        for (int d = 0; d < dim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, dim - d);
            product.left(rows, (d / DIM_CHUNK * Blocking.BACKWARD_KEYS + first) * ROW)
                    .right(panels, d * Blocking.BACKWARD_QUERIES + column * depth, depth * PANEL)
                    .into(to, column, ROW)
                    .multiply(count, width, depth, d > 0);
        }
    }

    private void mask(BackwardArguments call, Packer packer, HeadGroup group, PackedQueries queries) {
        if (call.mask.hasTensors()) {
            transposeMask(call, packer, group, queries);
            for (int r = 0; r < count; r++) {
                if (call.mask.hasBias()) {
                    RowOps.scale(
                            sThenP,
                            r * ROW + column,
                            width,
                            call.problem.scores().scale());
                }
                RowOps.addBias(sThenP, r * ROW + column, width, transposed, r * ROW + column);
            }
        } else if (!queries.allSee(firstKey + count - 1)) {
            for (int q = 0; q < queries.count; q++) {
                ends[q] = Math.max(0, Math.min(KEYS, queries.ends[q] - firstKey));
            }
            for (int r = 0; r < count; r++) {
                ScoreGradient.limit(sThenP, r * ROW + column, width, ends, column, r);
            }
        }
    }

    /** Transposes masks and biases to terms that are added to the scores. */
    private void transposeMask(BackwardArguments call, Packer packer, HeadGroup group, PackedQueries queries) {
        for (int q = column; q < queries.count; q++) {
            long of = queries.firstRow + q;
            int visible = (int) Math.max(0, Math.min(count, queries.ends[q] - firstKey));
            Arrays.fill(row, 0f);
            if (visible > 0) {
                index.set(group.sequence(), group.head(of), group.query(of), firstKey);
                call.mask.apply(packer, row, 0, staging, index, visible);
            }
            for (int r = 0; r < count; r++) {
                transposed[r * ROW + q] = r < visible ? row[r] : Float.NEGATIVE_INFINITY;
            }
        }
    }

    private void drawDropout(ScoreRule rule, HeadGroup group, PackedQueries queries) {
        long threshold = Philox.threshold(rule.dropoutRate());
        float kept = Philox.kept(rule.dropoutRate());
        factors = memory.atLeast(factors, KEYS * ROW);
        for (int q = column; q < queries.count; q++) {
            long counter = group.dropoutCounter(queries.firstRow + q);
            for (int r = 0; r < count; r++) {
                if (r % 4 == 0) {
                    Philox.draw(rule.dropoutSeed(), (firstKey + r) / 4, counter, words);
                }
                factors[r * ROW + q] = Philox.drops(words[r % 4], threshold) ? 0f : kept;
            }
        }
    }

    private void readWeightsGradient(Tensor gradient, Packer packer, HeadGroup group, PackedQueries queries) {
        for (int q = column; q < queries.count; q++) {
            long at = group.position(gradient, queries.firstRow + q) + firstKey * gradient.stride(3);
            packer.read(gradient, at, 0, gradient.stride(3), 1, count, row, 0, row.length);
            for (int r = 0; r < count; r++) {
                transposed[r * ROW + q] = row[r];
            }
        }
    }
}

package io.multihead.internal.attention.backward;

import static io.multihead.internal.attention.AttentionBlocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.attention.HeadRows;
import io.multihead.internal.attention.ScoreRule;
import io.multihead.internal.attention.mask.ScoreIndex;
import io.multihead.internal.base.Philox;
import io.multihead.internal.gemm.MacroKernel;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.kernel.ScoreOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Weights and score gradients of up to 64 keys and 256 queries, transposed: {@code S^T = K Q^T}, {@code dP^T = V dO^T}, then {@code P =
 * e^(scale S - lse)} and {@code dS = P o (dP - D)} (Dao 2023, algorithm 2), and under a soft-cap {@code dX = (1 - (S / cap)^2) o dS} with X
 * the scores before the cap. Rows are keys, so that log-sum-exp and D are vectors. Belongs to one thread.
 */
final class ScoreGradientTile {
    private static final int KEYS = AttentionBlocking.BACKWARD_KEY_TILE;
    private static final float[] NONE = {};

    private final Scratch memory;
    private final MacroKernel product;
    private final Panels right = new Panels();
    /** {@code [key][ROW]}: S after {@link #compute}, then {@code M o P}. */
    private final float[] sThenP;
    /** {@code [key][ROW]}: dP after {@link #compute}, then dS, then dX. */
    private final float[] dPThenDS;
    /** Biases that are added to scores, and later the gradient of the weights: {@code [key][ROW]}. */
    private final float[] transposed;

    private final SeenColumns columns = new SeenColumns();
    /** For each query, the distance of the tile's first key, or of each key if the distance is large, and the slope of its head. */
    private final float[] distances = new float[AttentionBlocking.BACKWARD_QUERIES];

    private final float[] slopes = new float[AttentionBlocking.BACKWARD_QUERIES];
    /** For each query, the first key that it sees, then the end of these keys, counted from the first key of the tile. */
    private final float[] limits = new float[AttentionBlocking.BACKWARD_QUERIES];

    private final float[] exponents = new float[ScoreGradient.EXPONENTS];

    private final float[] row = new float[Lanes.roundUp(KEYS, PANEL)];
    private final float[] staging = new float[Lanes.roundUp(KEYS, PANEL)];
    private final int[] words = new int[4];
    private final ScoreIndex index = new ScoreIndex();

    /** Factors of dropout: {@code [key][ROW]}. */
    private float[] factors = new float[0];
    /** Derivatives of the soft-cap: {@code [key][ROW]}. */
    private float[] capFactors = new float[0];

    private long firstKey;
    private int count;
    private int column;
    private int width;

    ScoreGradientTile(Scratch memory) {
        this.memory = memory;
        product = new MacroKernel(memory);
        sThenP = memory.atLeast(NONE, KEYS * ROW);
        dPThenDS = memory.atLeast(NONE, KEYS * ROW);
        transposed = memory.atLeast(NONE, KEYS * ROW);
    }

    /**
     * Computes the masked S and dP of the keys of a block from {@code first} on, and of the columns that see any of these keys.
     *
     * @return whether there are such columns; otherwise nothing was computed
     */
    boolean compute(
            BackwardArguments call, Packer packer, HeadGroup group, PackedQueries queries, PackedKeys keys, int first) {
        firstKey = keys.firstKey + first;
        count = Math.min(KEYS, keys.count - first);
        if (!columns.find(call.mask, group, queries, firstKey, count)) {
            return false;
        }
        column = columns.first();
        width = columns.end() - column;
        multiply(keys.keys, first, queries.queryColumns, call.problem.headDim(), sThenP);
        multiply(keys.values, first, queries.gradientColumns, call.problem.valueDim(), dPThenDS);
        transform(call.problem.scores(), group, queries);
        mask(call, packer, group, queries);
        return true;
    }

    /** Turns S into {@code M o P} and dP into dS; called after {@link #compute}. */
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
        for (int r = 0; r < count; r++) {
            int at = r * ROW + column;
            if (drops) {
                RowOps.multiply(dPThenDS, at, width, factors, at);
            }
            if (weightsGradient != null) {
                RowOps.add(dPThenDS, at, width, transposed, at);
            }
        }
        ScoreGradient.of(
                sThenP,
                dPThenDS,
                column,
                count,
                width,
                rule.exponentScale(),
                queries.statistics,
                AttentionBlocking.BACKWARD_QUERIES,
                column,
                exponents);
        for (int r = 0; drops && r < count; r++) {
            RowOps.multiply(sThenP, r * ROW + column, width, factors, r * ROW + column);
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

    /** Turns dS into the gradient of the scores before the soft-cap, if there is one; called after {@link #finish}. */
    void throughCap(ScoreRule rule) {
        for (int r = 0; rule.softCap() != 0 && r < count; r++) {
            ScoreGradient.multiplyUnlessZero(dPThenDS, r * ROW + column, width, capFactors);
        }
    }

    /** Returns the number of keys. */
    int count() {
        return count;
    }

    /** Returns the first column of the last {@link #compute}, a multiple of 32. */
    int column() {
        return column;
    }

    /** Returns the end of the columns, a multiple of 32. */
    int end() {
        return column + width;
    }

    /** Returns whether a query sees a key; called between {@link #compute} and {@link #finish}. */
    boolean sees(int query, int key) {
        return query >= column && query < end() && sThenP[key * ROW + query] != Float.NEGATIVE_INFINITY;
    }

    /** Drops every reference to the memory of other owners. */
    void release() {
        product.release();
        right.clear();
    }

    private void multiply(HeadRows rows, int first, PanelMemory panels, int dim, float[] to) {
        if (dim == 0) {
            Arrays.fill(to, 0f);
        }
        for (int d = 0; d < dim; d += DIM_CHUNK) {
            int depth = Math.min(DIM_CHUNK, dim - d);
            int from = (d / DIM_CHUNK * AttentionBlocking.BACKWARD_KEYS + first) * ROW + rows.column();
            product.left(rows.rows(), from)
                    .right(right.set(panels, d * AttentionBlocking.BACKWARD_QUERIES + column * depth, depth * PANEL))
                    .into(to, column, ROW)
                    .multiply(count, width, depth, d > 0);
        }
    }

    /** Scales and caps scores and adds linear biases, in the order of {@link io.multihead.internal.attention.mask.ScoreTransform}. */
    private void transform(ScoreRule rule, HeadGroup group, PackedQueries queries) {
        float cap = (float) rule.softCap();
        float[] perHead = rule.slopes();
        capFactors = cap == 0 ? capFactors : memory.atLeast(capFactors, KEYS * ROW);
        for (int q = column; perHead != null && q < Math.min(end(), queries.count); q++) {
            slopes[q] = perHead[(int) group.head(queries.firstRow + q)];
        }
        boolean far = perHead != null && measure(queries, 0);
        for (int r = 0; rule.scalesFirst() && r < count; r++) {
            int at = r * ROW + column;
            RowOps.scale(sThenP, at, width, rule.scale());
            if (cap != 0) {
                ScoreOps.softCap(sThenP, at, width, cap);
                ScoreGradient.capDerivative(sThenP, at, width, cap, capFactors);
            }
            if (perHead != null) {
                if (far) {
                    measure(queries, r);
                }
                ScoreGradient.addSlopes(sThenP, at, width, slopes, distances, column, far ? 0 : r);
            }
        }
    }

    /**
     * Computes the distance of a key from each query, rounded to f32.
     *
     * @return whether the distance of a key of this tile may not be representable in f32
     */
    private boolean measure(PackedQueries queries, int key) {
        long most = 0;
        for (int q = column; q < Math.min(end(), queries.count); q++) {
            long distance = firstKey + key - queries.positions[q];
            most = Math.max(most, Math.abs(distance));
            distances[q] = distance;
        }
        return most > ScoreOps.FAR - KEYS;
    }

    private void mask(BackwardArguments call, Packer packer, HeadGroup group, PackedQueries queries) {
        if (call.mask.hasTensors() || call.mask.blocks().hides()) {
            transposeMask(call, packer, group, queries);
            for (int r = 0; r < count; r++) {
                RowOps.addBias(sThenP, r * ROW + column, width, transposed, r * ROW + column);
            }
            return;
        }
        if (!queries.allSeeFrom(firstKey)) {
            for (int q = column; q < Math.min(end(), queries.count); q++) {
                limits[q] = firstOf(queries, q);
            }
            for (int r = 0; r < count; r++) {
                ScoreGradient.limitBelow(sThenP, r * ROW + column, width, limits, column, r);
            }
        }
        if (!queries.allSeeUpTo(firstKey + count - 1)) {
            for (int q = column; q < Math.min(end(), queries.count); q++) {
                limits[q] = endOf(queries, q);
            }
            for (int r = 0; r < count; r++) {
                ScoreGradient.limit(sThenP, r * ROW + column, width, limits, column, r);
            }
        }
    }

    /** Returns the first key that a query sees, counted from the first key of the tile. */
    private int firstOf(PackedQueries queries, int query) {
        return (int) Math.max(0, Math.min(count, queries.firsts[query] - firstKey));
    }

    /** Returns the end of the keys that a query sees, counted from the first key of the tile. */
    private int endOf(PackedQueries queries, int query) {
        return (int) Math.max(0, Math.min(count, queries.ends[query] - firstKey));
    }

    /** Transposes masks and biases to terms that are added to the scores. */
    private void transposeMask(BackwardArguments call, Packer packer, HeadGroup group, PackedQueries queries) {
        for (int q = column; q < Math.min(end(), queries.count); q++) {
            long of = queries.firstRow + q;
            int first = firstOf(queries, q);
            int visible = endOf(queries, q);
            Arrays.fill(row, 0f);
            if (visible > first) {
                index.set(group.sequence(), group.head(of), group.query(of), firstKey);
                call.mask.apply(packer, row, 0, staging, index, visible);
                if (call.mask.blocks().hides()) {
                    call.mask.blocks().apply(row, 0, index, visible);
                }
            }
            for (int r = 0; r < count; r++) {
                transposed[r * ROW + q] = r >= first && r < visible ? row[r] : Float.NEGATIVE_INFINITY;
            }
        }
    }

    private void drawDropout(ScoreRule rule, HeadGroup group, PackedQueries queries) {
        long threshold = Philox.threshold(rule.dropoutRate());
        float kept = Philox.kept(rule.dropoutRate());
        factors = memory.atLeast(factors, KEYS * ROW);
        for (int q = column; q < Math.min(end(), queries.count); q++) {
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
        for (int q = column; q < Math.min(end(), queries.count); q++) {
            long at = group.position(gradient, queries.firstRow + q) + firstKey * gradient.stride(3);
            packer.read(gradient, at, 0, gradient.stride(3), 1, count, row, 0, row.length);
            for (int r = 0; r < count; r++) {
                transposed[r * ROW + q] = row[r];
            }
        }
    }
}

package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Philox;
import io.multihead.internal.kernel.Product;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreGradient;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Weights and score gradients of up to 64 keys and 256 queries, turned: {@code S^T = K Q^T}, {@code dP^T = V dO^T}, then
 * {@code P = e^(scale S - lse)} and {@code dS = P o (dP - D)} (Dao 2023, algorithm 2). Rows are keys, so that log-sum-exp and
 * D are vectors. Belongs to one thread.
 */
final class GradientTile {
    /** Keys of one tile. */
    static final int KEYS = 64;

    /** {@code [key][ROW]}: M o P. */
    final float[] weights = new float[KEYS * ROW];
    /** {@code [key][ROW]}: dS. */
    final float[] scores = new float[KEYS * ROW];

    private final Scratch memory;
    private final Product product;
    private final float[] limits = new float[QueryBlock.MOST];
    /** What is added to scores, then the gradient of the weights: {@code [key][ROW]}. */
    private final float[] turned = new float[KEYS * ROW];
    /** Dropout's factors: {@code [key][ROW]}. */
    private float[] factors = new float[0];

    /** What the exponents of a row lost, and sums that nobody needs. */
    private final float[] room = new float[ROW + PANEL];

    private final float[] row = new float[Lanes.roundUp(KEYS, PANEL)];
    private final float[] staging = new float[Lanes.roundUp(KEYS, PANEL)];

    private GradientCall call;
    private GradientScratch scratch;
    private QueryBlock queries;
    private long group;
    private long firstKey;
    private int count;
    private int column;
    private int wide;

    GradientTile(Scratch memory) {
        this.memory = memory;
        product = new Product(memory);
    }

    /** Names the call and the group that the next tiles belong to. */
    void begin(GradientCall newCall, GradientScratch newScratch, long newGroup) {
        call = newCall;
        scratch = newScratch;
        group = newGroup;
    }

    /** Forgets the call. */
    void end() {
        call = null;
        scratch = null;
        queries = null;
    }

    /**
     * Computes the tile of the keys {@code first} on of a block, and the query columns from {@code firstColumn} on, a whole
     * panel that some key is seen from.
     */
    void compute(QueryBlock block, KeyRows keys, int first, int firstColumn) {
        queries = block;
        firstKey = keys.firstKey + first;
        count = Math.min(KEYS, keys.count - first);
        column = firstColumn;
        wide = Lanes.roundUp(block.count, PANEL) - column;
        multiply(keys.keys, first, block.turnedQuery, call.forward.headDim, weights);
        multiply(keys.values, first, block.turnedGradient, call.forward.valueDim, scores);
        mask();
    }

    /** Turns scores into weights and their gradients; {@link #compute} comes first. */
    void finish() {
        boolean drops = call.forward.dropout.drops();
        if (drops) {
            turnDropout();
        }
        boolean ofWeights = call.weightsGradient() != null;
        if (ofWeights) {
            turnWeightsGradient();
        }
        for (int r = 0; r < count; r++) {
            int at = r * ROW + column;
            if (drops) {
                RowOps.multiply(scores, at, wide, factors, at);
            }
            if (ofWeights) {
                RowOps.add(scores, at, wide, turned, at);
            }
            float scale = call.forward.scoreScale();
            ScoreGradient.of(weights, scores, at, wide, scale, queries.rows, QueryBlock.MOST, column, room);
            if (drops) {
                RowOps.multiply(weights, at, wide, factors, at);
            }
        }
    }

    /** Whether a key is seen from a column; between {@link #compute} and {@link #finish}. */
    boolean sees(int query, int key) {
        return weights[key * ROW + query] != Float.NEGATIVE_INFINITY;
    }

    private void multiply(float[] rows, int first, float[] panels, int dim, float[] to) {
        if (dim == 0) {
            Arrays.fill(to, 0f);
        }
        for (int d = 0; d < dim; d += DEPTH) {
            int depth = Math.min(DEPTH, dim - d);
            product.left(rows, (d / DEPTH * KeyRows.MOST + first) * ROW)
                    .right(panels, d * QueryBlock.MOST + column * depth, depth * PANEL)
                    .into(to, column, ROW)
                    .multiply(count, wide, depth, d > 0);
        }
    }

    private void mask() {
        if (call.forward.mask.hasTensors()) {
            turnMask();
            for (int r = 0; r < count; r++) {
                if (call.forward.mask.hasBias()) {
                    RowOps.scale(weights, r * ROW + column, wide, call.forward.scale);
                }
                RowOps.addBias(weights, r * ROW + column, wide, turned, r * ROW + column);
            }
        } else if (!queries.allSee(firstKey + count - 1)) {
            for (int q = 0; q < queries.count; q++) {
                limits[q] = Math.max(0, Math.min(KEYS, queries.limits[q] - firstKey));
            }
            for (int r = 0; r < count; r++) {
                ScoreGradient.limit(weights, r * ROW + column, wide, limits, column, r);
            }
        }
    }

    /** Masks and biases as what is added to the scores. */
    private void turnMask() {
        AttentionCall forward = call.forward;
        for (int q = column; q < queries.count; q++) {
            long of = queries.firstRow + q;
            int visible = (int) Math.max(0, Math.min(count, queries.limits[q] - firstKey));
            Arrays.fill(row, 0f);
            if (visible > 0) {
                scratch.place.set(group / forward.kvHeads, call.headOf(group, of), call.queryOf(of), firstKey);
                forward.mask.apply(scratch.packer, row, 0, staging, scratch.place, visible);
            }
            for (int r = 0; r < count; r++) {
                turned[r * ROW + q] = r < visible ? row[r] : Float.NEGATIVE_INFINITY;
            }
        }
    }

    private void turnDropout() {
        AttentionDropout dropout = call.forward.dropout;
        long threshold = Philox.threshold(dropout.rate());
        float kept = Philox.kept(dropout.rate());
        factors = memory.atLeast(factors, KEYS * ROW);
        for (int q = column; q < queries.count; q++) {
            long counter = call.dropoutCounter(group, queries.firstRow + q);
            for (int r = 0; r < count; r++) {
                if (r % 4 == 0) {
                    Philox.draw(dropout.seed(), (firstKey + r) / 4, counter, scratch.words);
                }
                factors[r * ROW + q] = Philox.drops(scratch.words[r % 4], threshold) ? 0f : kept;
            }
        }
    }

    private void turnWeightsGradient() {
        Tensor upstream = call.weightsGradient();
        for (int q = column; q < queries.count; q++) {
            long at = call.start(upstream, group, queries.firstRow + q) + firstKey * upstream.stride(3);
            scratch.packer.read(upstream, at, 0, upstream.stride(3), 1, count, row, 0, row.length);
            for (int r = 0; r < count; r++) {
                turned[r * ROW + q] = row[r];
            }
        }
    }
}

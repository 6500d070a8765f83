package io.multihead.attention;

import io.multihead.compute.Compute;
import io.multihead.compute.Workspace;
import io.multihead.internal.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Tensor;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One call of attention: its arguments, sizes and division into units. A unit is a run of query rows that share one
 * key/value head; with grouped heads, the rows of all query heads of the group follow each other, so each key is read once
 * per group. Filled by {@link Attention}, read by the threads.
 */
final class AttentionCall implements Compute.Job {
    /** Most rows of one unit: their state stays in L2 beside a key block. */
    private static final int MOST_ROWS = 4 * QueryRows.TILE;

    /** Most rows of one unit when keys must be packed again for each: packing is then a thirtieth of the work. */
    private static final int MOST_ROWS_REPACKED = 10 * QueryRows.TILE;

    /** Floats of packed keys and values that a thread keeps from unit to unit: 16 MiB. */
    private static final long MOST_PACKED = 1L << 22;

    /** Units per thread below which units are made smaller, so that threads end together. */
    private static final int UNITS_PER_THREAD = 4;

    private static final AtomicLong TAGS = new AtomicLong();

    final MaskPlan mask = new MaskPlan();
    long batches;
    long heads;
    long kvHeads;
    long group;
    long queries;
    long keys;
    int headDim;
    int valueDim;
    /** What scores are multiplied with, more than 0; the sign, or a scale of 0, goes into {@link #queryFactor}. */
    float scale;

    float queryFactor;
    AttentionDropout dropout = AttentionDropout.NONE;
    private long firstTag;
    private int rowsPerUnit;
    private long unitsPerGroup;
    private @Nullable Tensor query;
    private @Nullable Tensor key;
    private @Nullable Tensor value;
    private @Nullable Tensor output;
    private @Nullable Tensor logSumExp;
    private @Nullable Tensor weights;

    /** Takes checked arguments. */
    void bindInputs(Tensor newQuery, Tensor newKey, Tensor newValue) {
        query = newQuery;
        key = newKey;
        value = newValue;
        batches = newQuery.dim(0);
        heads = newQuery.dim(1);
        kvHeads = newKey.dim(1);
        group = kvHeads == 0 ? 0 : heads / kvHeads;
        queries = newQuery.dim(2);
        keys = newKey.dim(2);
        headDim = (int) newQuery.dim(3);
        valueDim = (int) newValue.dim(3);
        firstTag = TAGS.getAndAdd(batches * kvHeads);
    }

    void bindOutputs(Tensor newOutput, @Nullable Tensor newLogSumExp, @Nullable Tensor newWeights) {
        output = newOutput;
        logSumExp = newLogSumExp;
        weights = newWeights;
    }

    /** Takes the options; the mask is bound before. */
    void setOptions(AttentionOptions options) {
        float newScale = (float) options.scaleFor(headDim);
        scale = newScale == 0f ? 1f : Math.abs(newScale);
        queryFactor = Math.signum(newScale);
        dropout = options.dropout();
    }

    /** What the exponential still has to multiply scores with. */
    float scoreScale() {
        return mask.hasBias() ? 1f : scale;
    }

    /** Divides the rows into units; results do not depend on how. */
    long divide(int threads) {
        long rows = group * queries;
        long groups = batches * kvHeads;
        if (rows == 0 || groups == 0) {
            return 0;
        }
        int most = keepsKeys() || weights != null ? MOST_ROWS : MOST_ROWS_REPACKED;
        long units = Math.ceilDiv(rows, (long) most);
        if (threads > 1) {
            units = Math.max(units, Math.ceilDiv((long) threads * UNITS_PER_THREAD, groups));
        }
        long size = Math.ceilDiv(Math.ceilDiv(rows, units), (long) QueryRows.TILE) * QueryRows.TILE;
        rowsPerUnit = (int) Math.min(size, most);
        unitsPerGroup = Math.ceilDiv(rows, (long) rowsPerUnit);
        return unitsPerGroup * groups;
    }

    /**
     * Units of one group follow each other, so that a thread finds its keys still packed; later rows first, since under a
     * causal mask they cost most and see every key that the others see.
     */
    @Override
    public void run(long unit, Workspace scratch) {
        long firstRow = (unitsPerGroup - 1 - unit % unitsPerGroup) * rowsPerUnit;
        long rows = Math.min(rowsPerUnit, group * queries - firstRow);
        QueryRows queryRows = scratch.job(Workspace.ATTENTION, QueryRows::new);
        queryRows.attend(this, scratch.packer(), unit / unitsPerGroup, firstRow, (int) rows);
    }

    /** Whether a thread keeps the packed keys and values of a whole group. */
    boolean keepsKeys() {
        return keys * (Lanes.roundUp(headDim, Lanes.PANEL) + Lanes.roundUp(valueDim, Lanes.PANEL)) <= MOST_PACKED;
    }

    /** A number that no other call and no other group has: what a thread's packed keys are known by. */
    long tag(long groupIndex) {
        return firstTag + groupIndex;
    }

    /** Position of the first element of a group's keys or values. */
    long start(Tensor tensor, long groupIndex) {
        return tensor.offset() + groupIndex / kvHeads * tensor.stride(0) + groupIndex % kvHeads * tensor.stride(1);
    }

    Tensor query() {
        return Checks.notNull(query, "query");
    }

    Tensor key() {
        return Checks.notNull(key, "key");
    }

    Tensor value() {
        return Checks.notNull(value, "value");
    }

    Tensor output() {
        return Checks.notNull(output, "output");
    }

    @Nullable
    Tensor logSumExp() {
        return logSumExp;
    }

    @Nullable
    Tensor weights() {
        return weights;
    }

    /** Forgets the caller's tensors. */
    void clear() {
        mask.clear();
        query = null;
        key = null;
        value = null;
        output = null;
        logSumExp = null;
        weights = null;
    }
}

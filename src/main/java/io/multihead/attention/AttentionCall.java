package io.multihead.attention;

import io.multihead.internal.Checks;
import io.multihead.internal.SlowConditions;
import io.multihead.tensor.Tensor;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The arguments of one call of attention, and the sizes and factors that follow from them. Read by all threads. */
final class AttentionCall {
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
    ScoreOptions scores = ScoreOptions.NONE;
    private long firstTag;
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

    /** Takes checked arguments; queries and keys are -1 where sequences differ. */
    void bindView(Tensor newQuery, KeyValueView view, long newQueries, long newKeys) {
        query = newQuery;
        batches = view.sequences();
        heads = newQuery.dim(1);
        kvHeads = view.heads();
        group = kvHeads == 0 ? 0 : heads / kvHeads;
        queries = newQueries;
        keys = newKeys;
        headDim = view.headDim();
        valueDim = view.valueDim();
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
        scores = options.scores();
        if (scores.modifier() != null) {
            SlowConditions.CUSTOM_MODIFIER.say();
        }
    }

    /** Whether scores are scaled before something is done to them, and not by the exponential. */
    boolean scalesFirst() {
        return mask.hasBias() || scores.changesScores();
    }

    /** What the exponential still has to multiply scores with. */
    float scoreScale() {
        return scalesFirst() ? 1f : scale;
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

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
    /** Keys and values that were given as tensors. */
    final TensorKeyValues tensors = new TensorKeyValues();

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
    private @Nullable Tensor output;
    private @Nullable Tensor logSumExp;
    private @Nullable Tensor weights;

    /** Takes checked arguments. */
    void bindInputs(Tensor newQuery, Tensor newKey, Tensor newValue) {
        tensors.bind(newKey, newValue);
        bindView(newQuery, tensors, newQuery.dim(2), newKey.dim(2));
    }

    /** Takes checked arguments; queries are -1 where sequences differ, keys are the most of any sequence or more. */
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
        return tensors.key();
    }

    Tensor value() {
        return tensors.value();
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
        tensors.bind(null, null);
        output = null;
        logSumExp = null;
        weights = null;
    }
}

package io.multihead.internal.attention;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The caller's tensors whose rows are queries, {@code [batch, queryHeads, queries, ...]}, or the gradients of query, output, log-sum-exp
 * and weights.
 */
public final class QueryTensors {
    private @Nullable Tensor query;
    private @Nullable Tensor output;
    private @Nullable Tensor logSumExp;
    private @Nullable Tensor weights;
    private @Nullable Tensor scores;
    private Stage stage = Stage.WEIGHTS;

    /** Creates an empty set that is bound before each use. */
    public QueryTensors() {}

    /** Sets all tensors; tensors that a call does not have are null. */
    public void bind(
            @Nullable Tensor newQuery,
            @Nullable Tensor newOutput,
            @Nullable Tensor newLogSumExp,
            @Nullable Tensor newWeights) {
        query = newQuery;
        output = newOutput;
        logSumExp = newLogSumExp;
        weights = newWeights;
    }

    /** Sets the tensor that receives scores, and the stage at which they are read; null for none. */
    public void bindScores(@Nullable Tensor newScores, Stage newStage) {
        scores = newScores;
        stage = newStage;
    }

    /** Returns {@code [batch, queryHeads, queries, headDim]}. */
    public Tensor query() {
        return Checks.notNull(query, "query");
    }

    /** Returns whether there is a query tensor. There is none if its gradient is not requested. */
    public boolean hasQuery() {
        return query != null;
    }

    /** Returns {@code [batch, queryHeads, queries, valueDim]}. */
    public Tensor output() {
        return Checks.notNull(output, "output");
    }

    /** Returns {@code [batch, queryHeads, queries]}, or null. */
    public @Nullable Tensor logSumExp() {
        return logSumExp;
    }

    /** Returns {@code [batch, queryHeads, queries, keys]}, or null. */
    public @Nullable Tensor weights() {
        return weights;
    }

    /** Returns {@code [batch, queryHeads, queries, keys]} for scores at any stage, or null. */
    public @Nullable Tensor scores() {
        return scores;
    }

    /** Returns the tensor for scores if scores are read at this stage, or null. */
    public @Nullable Tensor scores(Stage at) {
        return stage == at ? scores : null;
    }

    /** Drops every reference. */
    public void clear() {
        bind(null, null, null, null);
        scores = null;
    }
}

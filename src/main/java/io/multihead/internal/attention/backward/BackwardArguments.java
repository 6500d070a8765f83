package io.multihead.internal.attention.backward;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.QueryTensors;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** The tensors and settings that the workers of one call read and write. Threads share it and do not change it. */
final class BackwardArguments {
    final AttentionProblem problem = new AttentionProblem();
    final BoundMask mask = new BoundMask();
    /** Tensors that forward read and wrote: query, output, log-sum-exp, and optionally weights. */
    final QueryTensors saved = new QueryTensors();
    /** The gradients of output, log-sum-exp and weights, which are read, and the gradient of the query, which is written. */
    final QueryTensors gradients = new QueryTensors();

    private @Nullable Tensor key;
    private @Nullable Tensor value;
    private @Nullable Tensor keyGradient;
    private @Nullable Tensor valueGradient;

    void bindKeyValues(
            Tensor newKey, Tensor newValue, @Nullable Tensor newKeyGradient, @Nullable Tensor newValueGradient) {
        key = newKey;
        value = newValue;
        keyGradient = newKeyGradient;
        valueGradient = newValueGradient;
    }

    Tensor key() {
        return Checks.notNull(key, "key");
    }

    Tensor value() {
        return Checks.notNull(value, "value");
    }

    @Nullable
    Tensor keyGradient() {
        return keyGradient;
    }

    @Nullable
    Tensor valueGradient() {
        return valueGradient;
    }

    Tensor logSumExp() {
        return Checks.notNull(saved.logSumExp(), "logSumExp");
    }

    /** Drops every reference to the caller's memory. */
    void clear() {
        problem.clear();
        mask.clear();
        saved.clear();
        gradients.clear();
        key = null;
        value = null;
        keyGradient = null;
        valueGradient = null;
    }
}

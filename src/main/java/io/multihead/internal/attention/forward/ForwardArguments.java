package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.QueryTensors;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** The tensors and settings that the workers of one call read and write. Threads share this object and do not change it. */
final class ForwardArguments {
    final AttentionProblem problem = new AttentionProblem();
    final BoundMask mask = new BoundMask();
    final QueryTensors tensors = new QueryTensors();
    private @Nullable KeyValueSource source;
    private @Nullable Tensor states;

    void bindSource(KeyValueSource newSource) {
        source = newSource;
    }

    KeyValueSource source() {
        return Checks.notNull(source, "source");
    }

    /** Sets the tensor that receives the states of the splits instead of an output; null for none. */
    void bindStates(@Nullable Tensor newStates) {
        states = newStates;
    }

    /** Returns whether the states of the splits are requested instead of their merged result. */
    boolean savesStates() {
        return states != null;
    }

    /** Returns {@code [batch, queryHeads, queries, splits, size]}, as {@link SplitStates} defines it. */
    Tensor states() {
        return Checks.notNull(states, "states");
    }

    /** Returns whether all scores of a task are held together, because the caller requests weights or scores. */
    boolean materializes() {
        return tensors.weights() != null || tensors.scores() != null;
    }

    /** Drops every reference to the caller's memory. */
    void clear() {
        problem.clear();
        mask.clear();
        tensors.clear();
        source = null;
        states = null;
    }
}

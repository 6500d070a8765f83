package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.QueryTensors;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.base.Checks;
import org.jspecify.annotations.Nullable;

/** All that a worker reads or writes in one call. Shared by the threads, which do not change it. */
final class ForwardArguments {
    final AttentionProblem problem = new AttentionProblem();
    final BoundMask mask = new BoundMask();
    final QueryTensors tensors = new QueryTensors();
    private @Nullable KeyValueSource source;

    void bindSource(KeyValueSource newSource) {
        source = newSource;
    }

    KeyValueSource source() {
        return Checks.notNull(source, "source");
    }

    /** Returns whether all scores of a task are held at once, because the caller wants weights or scores. */
    boolean materialises() {
        return tensors.weights() != null || tensors.scores() != null;
    }

    /** Drops every reference to the caller's memory. */
    void clear() {
        problem.clear();
        mask.clear();
        tensors.clear();
        source = null;
    }
}

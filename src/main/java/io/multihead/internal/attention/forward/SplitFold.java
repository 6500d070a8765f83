package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;

/**
 * Merges the states of splits in order, and writes the results of a task's rows. This is the only code that merges splits, so that results
 * have the same bits whether the states were computed sequentially, in separate tasks, or on other machines. Belongs to one thread.
 */
final class SplitFold {
    /** The state over the first split and all splits that were merged into it. */
    private final OnlineSoftmax total;
    /** State over one split. */
    private final OnlineSoftmax part;

    private final QueryTile queries;
    private final OutputWriter writer;

    /** Creates an object that uses the rows of its worker. */
    SplitFold(Scratch memory, QueryTile queries) {
        this.queries = queries;
        total = new OnlineSoftmax(memory);
        part = new OnlineSoftmax(memory);
        writer = new OutputWriter(memory, queries);
    }

    /** Resets and returns the state over all splits. The first split may be computed in it. */
    OnlineSoftmax begin(AttentionProblem problem) {
        return reset(total, problem);
    }

    /** Resets and returns the state over one split. */
    OnlineSoftmax next(AttentionProblem problem) {
        return reset(part, problem);
    }

    /** Merges the state that {@link #next} returned. */
    void merge() {
        total.merge(part, queries.rows());
    }

    /** Writes output and log-sum-exp over all splits. */
    OutputWriter write(ForwardArguments call, Packer packer) {
        writer.write(call, packer, total);
        return writer;
    }

    private OnlineSoftmax reset(OnlineSoftmax softmax, AttentionProblem problem) {
        softmax.reset(queries.rows(), problem.valueDim(), problem.scores().exponentScale());
        return softmax;
    }
}

package io.multihead.internal.gemm;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The operands of one call of MaxSim: the vectors of a query's tokens, the vectors of all passages one after another, and the first token
 * of each passage. One thread binds the problem, and then all threads that work on the problem read it.
 */
public final class MaxSimProblem {
    private static final AtomicLong CALLS = new AtomicLong();
    private static final long[] NONE = {};

    /** The number of tokens below which a task is not worth another thread: two blocks of rows. */
    private static final long TOKENS_PER_TASK = 2L * Blocking.MC;

    private static final int TASKS_PER_THREAD = 4;

    /** A unique number of the call: the key under which threads keep the packed query. */
    long call;

    private @Nullable Tensor query;
    private @Nullable Tensor tokens;
    private @Nullable Tensor scores;
    private long[] offsets = NONE;
    private long tasks;

    /** Creates a problem without operands. */
    public MaxSimProblem() {}

    /** Binds checked operands, and returns the number of tasks. */
    public long bind(Tensor newQuery, Tensor newTokens, long[] newOffsets, Tensor newScores, int threads) {
        call = CALLS.incrementAndGet();
        query = newQuery;
        tokens = newTokens;
        offsets = newOffsets;
        scores = newScores;
        long most = Math.min((long) threads * TASKS_PER_THREAD, passages());
        tasks = threads == 1
                ? Math.min(1, passages())
                : Math.min(most, Math.ceilDiv(newTokens.dim(0), TOKENS_PER_TASK));
        return tasks;
    }

    /** Releases the caller's operands. */
    public void release() {
        query = null;
        tokens = null;
        scores = null;
        offsets = NONE;
    }

    /** Returns the first passage of a task; for the task after the last one, the number of passages. */
    int firstPassage(long task) {
        if (task == tasks) {
            return passages();
        }
        // tasks have numbers of tokens that are as equal as whole passages allow: count * task / tasks, without a
        // product that may
        // overflow
        long count = tokens().dim(0);
        long token = count / tasks * task + count % tasks * task / tasks;
        int found = Arrays.binarySearch(offsets, 0, passages(), token);
        return found >= 0 ? found : -found - 1;
    }

    int passages() {
        return offsets.length - 1;
    }

    /** Returns the first token of a passage; for the passage after the last one, the number of tokens. */
    long offset(int passage) {
        return offsets[passage];
    }

    Tensor query() {
        return Checks.notNull(query, "query");
    }

    Tensor tokens() {
        return Checks.notNull(tokens, "tokens");
    }

    Tensor scores() {
        return Checks.notNull(scores, "scores");
    }
}

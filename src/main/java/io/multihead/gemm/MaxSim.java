package io.multihead.gemm;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.gemm.MaxSimLoop;
import io.multihead.internal.gemm.MaxSimProblem;
import io.multihead.tensor.Tensor;

/**
 * Late interaction (Khattab and Zaharia 2020, "ColBERT", equation 3): the score of a passage is the sum over the query's tokens of the largest
 * dot product of that token's vector with a vector of the passage.
 *
 * <p>Products are in f32 in the same chains as in {@link Gemm}, maxima are added up in double, and a score is rounded once. A score has the
 * same bits alone and among any passages, for any number of threads and at every lane width. Thread-safe. A warm call allocates nothing. A
 * product that is NaN makes the scores of its passage NaN.
 */
public final class MaxSim {
    /** The largest number of elements of a query's vectors, which each thread packs: 16 MiB. */
    private static final long MOST_QUERY = 1L << 22;

    private static final ScratchKey<Call> CALL = ScratchKey.of(Call::new);
    private static final ScratchKey<MaxSimLoop> LOOPS = ScratchKey.ofWorker(MaxSimLoop::new);

    private MaxSim() {}

    /** One call, which the calling thread keeps. */
    private static final class Call extends Operation implements LoopBody {
        private final MaxSimProblem problem = new MaxSimProblem();

        void run(Tensor query, Tensor tokens, long[] offsets, Tensor scores) {
            run(this, problem.bind(query, tokens, offsets, scores, parallelism()));
        }

        @Override
        public void run(long task, Workspace scratch) {
            scratch.get(LOOPS).run(problem, scratch.packer(), task);
        }

        @Override
        protected void clear() {
            problem.release();
        }
    }

    /**
     * Computes the scores of passages.
     *
     * @param cpu threads and scratch
     * @param query {@code [query tokens, dim]}, any strides and floating-point type; at most 2^22 elements
     * @param tokens {@code [tokens, dim]}, the vectors of all passages in order, any strides and floating-point type
     * @param offsets the index of the first token of each passage, followed by the number of all tokens; a passage has at least one token.
     *     Read only during the call
     * @param scores {@code [passages]}, any floating-point type, written
     * @throws IllegalArgumentException if shapes or offsets do not fit, or memory overlaps; nothing is written
     */
    public static void scores(Compute cpu, Tensor query, Tensor tokens, long[] offsets, Tensor scores) {
        Checks.notNull(cpu, "cpu");
        requireVectors(cpu, query, "query");
        requireVectors(cpu, tokens, "tokens");
        if (query.dim(0) < 1 || query.dim(1) < 1 || query.dim(0) > MOST_QUERY / query.dim(1)) {
            throw Checks.fail("query", "shape " + query.shape(), "expected 1 to " + MOST_QUERY + " elements");
        }
        if (tokens.dim(1) != query.dim(1)) {
            throw Checks.fail(
                    "tokens",
                    "shape " + tokens.shape(),
                    "expected vectors of " + query.dim(1) + " elements, as in query " + query.shape());
        }
        Checks.requireOffsets(offsets, "offsets", tokens.dim(0), tokens.shape());
        TensorChecks.requireWritable(cpu, scores, "scores");
        if (scores.rank() != 1 || scores.dim(0) != offsets.length - 1) {
            throw Checks.fail(
                    "scores", "shape " + scores.shape(), "expected [" + (offsets.length - 1) + "], as in offsets");
        }
        TensorChecks.requireApart(scores, "scores", query, "query");
        TensorChecks.requireApart(scores, "scores", tokens, "tokens");
        try (Call call = Operation.open(cpu, CALL)) {
            call.run(query, tokens, offsets, scores);
        }
    }

    private static void requireVectors(Compute cpu, Tensor tensor, String argument) {
        TensorChecks.requireFloating(tensor, argument);
        if (tensor.rank() != 2) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected [tokens, dim]");
        }
        TensorChecks.requireAccess(cpu, tensor, argument);
    }
}

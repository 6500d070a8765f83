package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Merges the states of splits that the caller kept, in order; a task is up to {@link AttentionBlocking#QUERY_TILE} queries of one head. */
public final class SplitMerge extends Operation implements LoopBody {
    private static final ScratchKey<Worker> WORKER = ScratchKey.ofWorker(Worker::new);

    private final ForwardArguments arguments = new ForwardArguments();
    private List<Tensor> states = List.of();
    private float[] sinks = new float[0];
    private long queries;
    private long chunks;

    /** Creates a call that is bound before each use. */
    public SplitMerge() {}

    /**
     * Sets checked tensors.
     *
     * @param newStates {@code [batch, heads, queries, splits, size]} each, in order of splits, at least one split in total
     * @param output {@code [batch, heads, queries, valueDim]}
     */
    public void bind(List<Tensor> newStates, Tensor output, @Nullable Tensor logSumExp) {
        states = newStates;
        queries = output.dim(2);
        chunks = Math.ceilDiv(queries, (long) AttentionBlocking.QUERY_TILE);
        long heads = output.dim(1);
        arguments.problem.bindQuery(output, null);
        arguments.problem.bindKeys(heads, 0, (int) output.dim(3));
        arguments.tensors.bind(null, output, logSumExp, null);
        if (queries > 0 && output.dim(0) > 0 && heads > 0) {
            bindScores((int) heads);
        }
    }

    private void bindScores(int heads) {
        Tensor first = states.getFirst();
        boolean hasSinks = false;
        // one element per head, since the score rule of a call has one sink per head
        sinks = sinks.length == heads ? sinks : new float[heads];
        for (int head = 0; head < heads; head++) {
            sinks[head] = SplitStates.sink(first, 0, head, 0);
            hasSinks |= sinks[head] != Float.NEGATIVE_INFINITY;
        }
        arguments.problem.scores().bindScale(SplitStates.scale(first, 0, 0, 0), false);
        arguments.problem.scores().bindTransforms(0, null, hasSinks ? sinks : null, null);
    }

    public void run() {
        run(this, arguments.tensors.output().dim(0) * arguments.problem.heads() * chunks);
    }

    @Override
    public void run(long task, Workspace scratch) {
        long batchHead = task / chunks;
        long firstRow = task % chunks * AttentionBlocking.QUERY_TILE;
        Worker worker = scratch.get(WORKER);
        QueryTile rows = worker.queries;
        long heads = arguments.problem.heads();
        int count = (int) Math.min(AttentionBlocking.QUERY_TILE, queries - firstRow);
        rows.bind(arguments.problem, (int) (batchHead / heads), (int) (batchHead % heads), firstRow, count, 1);
        try {
            worker.merge(arguments, states, scratch.packer());
        } finally {
            rows.release();
        }
    }

    /** Drops every reference to the caller's memory. */
    @Override
    protected void clear() {
        arguments.clear();
        states = List.of();
        Arrays.fill(sinks, 0f);
    }

    /** One thread's rows and states. */
    private static final class Worker {
        final QueryTile queries;
        private final SplitStates saved;
        private final SplitFold fold;

        Worker(Scratch memory) {
            queries = new QueryTile(memory);
            saved = new SplitStates(memory);
            fold = new SplitFold(memory, queries);
        }

        void merge(ForwardArguments call, List<Tensor> states, Packer packer) {
            fold.begin(call.problem);
            OnlineSoftmax part = fold.next(call.problem);
            for (int i = 0; i < states.size(); i++) {
                Tensor from = states.get(i);
                for (long split = 0; split < from.dim(3); split++) {
                    saved.read(from, packer, queries, part, split);
                    fold.merge();
                }
            }
            fold.write(call, packer);
        }
    }
}

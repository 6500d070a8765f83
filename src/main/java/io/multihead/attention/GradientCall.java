package io.multihead.attention;

import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * One call of backward: its arguments and its division into units. Filled by {@link Attention}, read by the threads.
 *
 * <p>A pair of a key block and a query block contributes to dK and dV of its keys and to dQ of its queries. Every element of
 * dK, dV and dQ belongs to one unit, which adds the blocks in ascending order, so no result depends on the division: a whole
 * group of heads as one unit forms each pair once (five multiplications); when there are too few groups for the threads, units
 * of key blocks and then units of query blocks form each pair twice (seven).
 */
final class GradientCall extends Operation implements LoopBody {
    /** What the units of one run are. */
    enum Phase {
        GROUPS,
        KEYS,
        QUERIES,
        BIAS
    }

    private static final ScratchKey<GradientUnit> WORKER = ScratchKey.ofWorker(GradientUnit::new);

    /** Multiplications of a pair of blocks when it is formed once, and when it is formed twice. */
    private static final int ONCE = 5;

    private static final int TWICE = 7;

    final AttentionCall forward = new AttentionCall();
    final BiasPlan bias = new BiasPlan();
    private Phase phase = Phase.GROUPS;
    private @Nullable AttentionOutputs upstream;
    private @Nullable AttentionGradients gradients;

    /** Takes checked inputs and outputs. */
    void bind(AttentionPass pass, AttentionOutputs newUpstream, AttentionGradients newGradients) {
        forward.bindInputs(pass.query(), pass.key(), pass.value());
        forward.bindOutputs(
                pass.outputs().output(),
                pass.outputs().logSumExp(),
                pass.outputs().weights());
        forward.mask.bind(pass.options().mask(), forward.batches, forward.heads, forward.queries, forward.keys);
        forward.setOptions(pass.options());
        upstream = newUpstream;
        gradients = newGradients;
    }

    /** Runs everything, and records it if somebody asked for that. */
    void run() {
        AttentionEvent event = AttentionEvent.start();
        long units = runAll();
        if (event != null) {
            event.backward = true;
            event.finish(forward, forward.keys, units);
        }
    }

    /** Runs all phases that the gradients asked for need. */
    private long runAll() {
        long units = 0;
        boolean ofKeys = gradients().key() != null || gradients().value() != null;
        boolean ofQueries = gradients().query() != null;
        long groups = forward.batches * forward.kvHeads;
        if (ofKeys && ofQueries && !splits(groups, parallelism())) {
            units += run(Phase.GROUPS, groups);
        } else {
            units += run(Phase.KEYS, ofKeys ? groups * keyBlocks() : 0);
            units += run(Phase.QUERIES, ofQueries ? groups * queryBlocks() : 0);
        }
        if (gradients().bias() != null) {
            bias.bind(gradients().bias(), forward);
            units += run(Phase.BIAS, bias.units());
        }
        return units;
    }

    private long run(Phase newPhase, long units) {
        phase = newPhase;
        run(this, units);
        return units;
    }

    /** Whether forming pairs twice in small units ends sooner than forming them once in units that leave threads idle. */
    private static boolean splits(long groups, int threads) {
        return groups > 0 && Math.ceilDiv(groups, (long) threads) * threads * ONCE > groups * TWICE;
    }

    @Override
    public void run(long unit, Workspace scratch) {
        GradientUnit worker = scratch.get(WORKER);
        worker.use(scratch.packer());
        switch (phase) {
            case GROUPS -> worker.group(this, unit);
            case KEYS -> worker.keys(this, unit / keyBlocks(), unit % keyBlocks());
            case QUERIES -> worker.queries(this, unit / queryBlocks(), unit % queryBlocks());
            case BIAS -> worker.bias(this, unit);
        }
    }

    long keyBlocks() {
        return Math.ceilDiv(forward.keys, (long) KeyRows.MOST);
    }

    /** Blocks of the rows of one group. */
    long queryBlocks() {
        return Math.ceilDiv(forward.group * forward.queries, (long) QueryBlock.MOST);
    }

    /** Rows of a query block. */
    int rowsOf(long block) {
        return (int) Math.min(QueryBlock.MOST, forward.group * forward.queries - block * QueryBlock.MOST);
    }

    long headOf(long group, long row) {
        return group % forward.kvHeads * forward.group + row / forward.queries;
    }

    long queryOf(long row) {
        return row % forward.queries;
    }

    long dropoutCounter(long group, long row) {
        return AttentionDropout.counter(queryOf(row), group / forward.kvHeads * forward.heads + headOf(group, row));
    }

    /** Position of a row's first element in a tensor {@code [batch, queryHeads, queries, ...]}. */
    long start(Tensor tensor, long group, long row) {
        return tensor.offset()
                + group / forward.kvHeads * tensor.stride(0)
                + headOf(group, row) * tensor.stride(1)
                + queryOf(row) * tensor.stride(2);
    }

    Tensor logSumExp() {
        return Checks.notNull(forward.logSumExp(), "logSumExp");
    }

    Tensor weights() {
        return Checks.notNull(forward.weights(), "weights");
    }

    Tensor outputGradient() {
        return upstream().output();
    }

    @Nullable
    Tensor logSumExpGradient() {
        return upstream().logSumExp();
    }

    @Nullable
    Tensor weightsGradient() {
        return upstream().weights();
    }

    AttentionOutputs upstream() {
        return Checks.notNull(upstream, "outputGradient");
    }

    AttentionGradients gradients() {
        return Checks.notNull(gradients, "gradients");
    }

    /** Forgets the caller's tensors. */
    @Override
    protected void clear() {
        forward.clear();
        bias.clear();
        upstream = null;
        gradients = null;
    }
}

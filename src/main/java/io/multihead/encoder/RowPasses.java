package io.multihead.encoder;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Norm;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Passes over the row of each token: the sum of its embeddings, and addition with normalisation. Works in place on
 * arrays whose rows are padded to a multiple of 32, and is reused, so that a warm call allocates nothing. For one caller at a time.
 */
final class RowPasses implements LoopBody {
    private static final int TASKS_PER_THREAD = 4;

    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey SECOND = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();

    private enum Pass {
        EMBED,
        ADD_AND_NORMALIZE
    }

    private final BertConfig config;
    private final float[] states;
    private final float[] update;
    /** Floats from one row of states to the next. */
    private final int stride;

    private Pass pass = Pass.EMBED;
    private int tokens;
    private int rowsPerTask;
    private @Nullable EmbeddingTables embeddings;
    private @Nullable TokenBatch batch;
    private @Nullable NormWeights norm;

    /**
     * Binds the arrays of all passes.
     *
     * @param states a row of {@code dim} elements for each token
     * @param update the same, what is added to the states
     */
    RowPasses(BertConfig config, float[] states, float[] update) {
        this.config = config;
        this.states = states;
        this.update = update;
        stride = BertConfig.padded(config.dim());
    }

    /** States become the normalised sums of word, type and position embeddings. */
    void embed(Compute cpu, EmbeddingTables from, TokenBatch ids) {
        embeddings = from;
        batch = ids;
        norm = from.norm();
        run(cpu, Pass.EMBED, ids.tokens());
        embeddings = null;
        batch = null;
    }

    /** States become the normalised sums of states and updates. */
    void addAndNormalize(Compute cpu, NormWeights weights, int count) {
        norm = weights;
        run(cpu, Pass.ADD_AND_NORMALIZE, count);
    }

    private void run(Compute cpu, Pass which, int count) {
        pass = which;
        tokens = count;
        int threads = cpu.parallelism();
        rowsPerTask = Math.max(1, Math.ceilDiv(count, threads == 1 ? 1 : threads * TASKS_PER_THREAD));
        SingleCall.run(cpu, this, Math.ceilDiv(count, rowsPerTask));
    }

    @Override
    public void run(long task, Workspace scratch) {
        int first = (int) task * rowsPerTask;
        int last = Math.min(tokens, first + rowsPerTask);
        float[] row = scratch.floats(ROW, stride);
        float[] partial = scratch.floats(PARTIAL, PANEL);
        NormWeights weights = Checks.notNull(norm, "norm");
        for (int token = first; token < last; token++) {
            int at = token * stride;
            if (pass == Pass.EMBED) {
                sum(Checks.notNull(embeddings, "embeddings"), Checks.notNull(batch, "batch"), token, row, scratch);
            } else {
                System.arraycopy(states, at, row, 0, stride);
                RowOps.add(row, 0, stride, update, at);
            }
            // rows of products end before the padding
            Arrays.fill(row, config.dim(), stride, 0f);
            float factor = Norm.standardize(row, config.dim(), true, config.epsilon(), partial);
            Norm.affine(row, stride, factor, weights.weight(), weights.bias());
            System.arraycopy(row, 0, states, at, stride);
        }
    }

    /** In the order of the reference: word and type first. */
    private void sum(EmbeddingTables from, TokenBatch ids, int token, float[] row, Workspace scratch) {
        float[] second = scratch.floats(SECOND, stride);
        read(scratch.packer(), from.words(), ids.id(token), row);
        read(scratch.packer(), from.types(), 0, second);
        RowOps.add(row, 0, stride, second, 0);
        read(scratch.packer(), from.positions(), ids.position(token), second);
        RowOps.add(row, 0, stride, second, 0);
    }

    private void read(Packer packer, Tensor table, long index, float[] row) {
        packer.read(table, Positions.of(table, index), 0, table.stride(1), 1, config.dim(), row, 0, 0);
    }
}

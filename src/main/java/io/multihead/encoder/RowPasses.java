package io.multihead.encoder;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.encoder.BertLayer.NormWeights;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Activation;
import io.multihead.internal.kernel.Norm;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Passes over the row of each token: the sum of its embeddings, addition with normalisation, and GELU. Works on the arrays of
 * {@link Activations} in place and is reused, so that a warm call allocates nothing. For one caller at a time.
 */
final class RowPasses implements LoopBody {
    private static final int TASKS_PER_THREAD = 4;
    /** Elements of GELU at a time: chunk and exponents stay in the first-level cache. */
    private static final int CHUNK = 1024;

    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey SECOND = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();
    private static final FloatsKey ROOM = new FloatsKey();

    private enum Pass {
        EMBED,
        ADD_AND_NORMALIZE,
        GELU
    }

    private final BertConfig config;
    private Pass pass = Pass.EMBED;
    private int tokens;
    private int rowsPerTask;
    private @Nullable BertModel model;
    private @Nullable TokenBatch batch;
    private @Nullable NormWeights norm;
    private @Nullable Activations activations;

    RowPasses(BertConfig config) {
        this.config = config;
    }

    /** States become the normalised sums of word, type and position embeddings. */
    void embed(Compute cpu, BertModel from, TokenBatch ids, Activations to) {
        model = from;
        batch = ids;
        norm = from.embeddingNorm;
        run(cpu, Pass.EMBED, ids.tokens(), to);
        model = null;
        batch = null;
    }

    /** States become the normalised sums of states and updates. */
    void addAndNormalize(Compute cpu, NormWeights weights, int count, Activations to) {
        norm = weights;
        run(cpu, Pass.ADD_AND_NORMALIZE, count, to);
    }

    /** The feed-forward layer's inner elements pass through GELU. */
    void gelu(Compute cpu, int count, Activations to) {
        run(cpu, Pass.GELU, count, to);
    }

    private void run(Compute cpu, Pass which, int count, Activations to) {
        pass = which;
        tokens = count;
        activations = to;
        int threads = cpu.parallelism();
        rowsPerTask = Math.max(1, Math.ceilDiv(count, threads == 1 ? 1 : threads * TASKS_PER_THREAD));
        try {
            SingleCall.run(cpu, this, Math.ceilDiv(count, rowsPerTask));
        } finally {
            activations = null;
        }
    }

    @Override
    public void run(long task, Workspace scratch) {
        Activations to = Checks.notNull(activations, "activations");
        int first = (int) task * rowsPerTask;
        int last = Math.min(tokens, first + rowsPerTask);
        if (pass == Pass.GELU) {
            gelu(to, first * to.innerStride, last * to.innerStride, scratch);
            return;
        }
        float[] row = scratch.floats(ROW, to.stride);
        float[] partial = scratch.floats(PARTIAL, PANEL);
        NormWeights weights = Checks.notNull(norm, "norm");
        for (int token = first; token < last; token++) {
            int at = token * to.stride;
            if (pass == Pass.EMBED) {
                sum(Checks.notNull(model, "model"), Checks.notNull(batch, "batch"), token, row, scratch);
            } else {
                System.arraycopy(to.states, at, row, 0, to.stride);
                RowOps.add(row, 0, to.stride, to.update, at);
            }
            // rows of products end before the padding
            Arrays.fill(row, config.dim(), to.stride, 0f);
            float factor = Norm.standardize(row, config.dim(), true, config.epsilon(), partial);
            Norm.affine(row, to.stride, factor, weights.weight(), weights.bias());
            System.arraycopy(row, 0, to.states, at, to.stride);
        }
    }

    /** In the order of the reference: word and type first. */
    private void sum(BertModel from, TokenBatch ids, int token, float[] row, Workspace scratch) {
        float[] second = scratch.floats(SECOND, BertModel.padded(config.dim()));
        int padded = BertModel.padded(config.dim());
        read(scratch.packer(), from.words, ids.id(token), row);
        read(scratch.packer(), from.types, 0, second);
        RowOps.add(row, 0, padded, second, 0);
        read(scratch.packer(), from.positions, ids.position(token), second);
        RowOps.add(row, 0, padded, second, 0);
    }

    private void read(Packer packer, Tensor table, long index, float[] row) {
        packer.read(table, Positions.of(table, index), 0, table.stride(1), 1, config.dim(), row, 0, 0);
    }

    private static void gelu(Activations to, int from, int end, Workspace scratch) {
        float[] values = scratch.floats(ROW, CHUNK);
        float[] room = scratch.floats(ROOM, Activation.room(CHUNK));
        for (int at = from; at < end; at += CHUNK) {
            int length = Math.min(CHUNK, end - at);
            System.arraycopy(to.wide, at, values, 0, length);
            Activation.gelu(values, length, room);
            System.arraycopy(values, 0, to.wide, at, length);
        }
    }
}

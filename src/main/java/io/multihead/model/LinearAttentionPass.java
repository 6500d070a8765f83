package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.kernel.DeltaRule;
import io.multihead.internal.kernel.Silu;
import io.multihead.internal.nn.RowNorm;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Linear attention between its products, in three loops: norms of queries and keys, rates and decays of each token; the
 * gated delta rule, a task being 32 columns of a head's state and the tokens of a sequence; and the norm and gates of each token's results.
 */
final class LinearAttentionPass {
    /** Tokens whose values are copied together: so many stay in L1 beside a panel. */
    private static final int BLOCK = 64;

    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();
    private static final FloatsKey VALUES = new FloatsKey();
    private static final FloatsKey GATES = new FloatsKey();
    private static final FloatsKey BUFFER = new FloatsKey();

    private final Loop inputs = new Inputs();
    private final Loop steps = new Steps();
    private final Loop outputs = new Outputs();

    private @Nullable LinearAttentionRules rules;
    private @Nullable TokenBatch batch;
    private float[] rows = new float[0];
    private float[][] states = {};
    /** Where the rows of results begin. */
    private int context;

    /** Changes the rows of a batch and the states of its sequences, as {@link Buffers#takeStates} gave them. */
    void run(Compute cpu, LinearAttentionRules part, float[] newRows, TokenBatch newBatch, float[][] newStates) {
        rules = part;
        batch = newBatch;
        rows = newRows;
        states = newStates;
        int tokens = newBatch.tokens();
        context = tokens * part.layout().stride();
        LinearHeads heads = part.heads();
        try {
            inputs.start(cpu, tokens, 2L * heads.keyWidth());
            long tasks = (long) newBatch.sequences() * heads.valueHeads() * heads.panels();
            steps.start(cpu, tasks, (long) heads.panel() * tokens / newBatch.sequences());
            outputs.start(cpu, tokens, heads.valueWidth());
        } finally {
            rules = null;
            batch = null;
        }
    }

    private LinearAttentionRules part() {
        return Checks.notNull(rules, "part");
    }

    private abstract static class Loop extends RowLoop {
        void start(Compute cpu, long rows, long elements) {
            run(cpu, rows, elements);
        }
    }

    /** Copies a row to scratch, with zeros behind it. */
    private static float[] row(Workspace scratch, FloatsKey key, float[] from, int at, int count) {
        int padded = PartLayout.stride(count);
        float[] row = scratch.floats(key, padded);
        System.arraycopy(from, at, row, 0, count);
        Arrays.fill(row, count, padded, 0f);
        return row;
    }

    private static void normalise(Workspace scratch, RowNorm norm, float[] rows, int at) {
        float[] row = row(scratch, ROW, rows, at, norm.length());
        norm.apply(row, scratch.floats(PARTIAL, PANEL));
        System.arraycopy(row, 0, rows, at, norm.length());
    }

    private final class Inputs extends Loop {
        @Override
        protected void rows(long first, long end, Workspace scratch) {
            LinearAttentionRules part = part();
            LinearHeads heads = part.heads();
            LinearAttentionLayout layout = part.layout();
            for (int token = (int) first; token < end; token++) {
                int at = token * layout.stride();
                for (int head = 0; head < heads.keyHeads(); head++) {
                    normalise(scratch, part.queryNorm(), rows, at + head * heads.keyDim());
                    normalise(scratch, part.keyNorm(), rows, at + heads.keyWidth() + head * heads.keyDim());
                }
                for (int head = 0; head < heads.valueHeads(); head++) {
                    int rate = at + layout.ratesAt() + head;
                    int decay = at + layout.decaysAt() + head;
                    rows[rate] = LinearDecay.sigmoid(rows[rate]);
                    rows[decay] = part.decay().factor(head, rows[decay]);
                }
            }
        }
    }

    private final class Steps extends Loop {
        @Override
        protected void rows(long first, long end, Workspace scratch) {
            int panels = part().heads().panels();
            int ofSequence = part().heads().valueHeads() * panels;
            for (long task = first; task < end; task++) {
                int panel = (int) (task % ofSequence);
                sequence((int) (task / ofSequence), panel / panels, panel % panels, scratch);
            }
        }

        private void sequence(int sequence, int head, int panel, Workspace scratch) {
            LinearHeads heads = part().heads();
            LinearAttentionLayout layout = part().layout();
            TokenBatch tokens = Checks.notNull(batch, "batch");
            int stride = layout.stride();
            int query = heads.keyHead(head) * heads.keyDim();
            int column = head * heads.valueDim() + panel * PANEL;
            int columns = Math.min(PANEL, heads.valueDim() - panel * PANEL);
            int state = (head * heads.panels() + panel) * heads.panel();
            float[] values = scratch.floats(VALUES, BLOCK * PANEL);
            float[] gates = scratch.floats(GATES, BLOCK * DeltaRule.GATES);
            int last = tokens.start(sequence + 1);
            for (int token = tokens.start(sequence); token < last; token += BLOCK) {
                int count = Math.min(BLOCK, last - token);
                for (int i = 0; i < count; i++) {
                    int at = (token + i) * stride;
                    System.arraycopy(rows, at + 2 * heads.keyWidth() + column, values, i * PANEL, columns);
                    Arrays.fill(values, i * PANEL + columns, (i + 1) * PANEL, 0f);
                    gates[i * DeltaRule.GATES] = rows[at + layout.decaysAt() + head];
                    gates[i * DeltaRule.GATES + 1] = rows[at + layout.ratesAt() + head];
                }
                int from = token * stride + query;
                DeltaRule.panel(
                        count,
                        states[sequence],
                        state,
                        heads.keyDim(),
                        rows,
                        from,
                        from + heads.keyWidth(),
                        stride,
                        values,
                        gates);
                for (int i = 0; i < count; i++) {
                    int to = context + (token + i) * layout.contextStride() + column;
                    System.arraycopy(values, i * PANEL, rows, to, columns);
                }
            }
        }
    }

    private final class Outputs extends Loop {
        @Override
        protected void rows(long first, long end, Workspace scratch) {
            LinearAttentionRules part = part();
            LinearHeads heads = part.heads();
            LinearAttentionLayout layout = part.layout();
            int padded = PartLayout.stride(heads.valueDim());
            for (int token = (int) first; token < end; token++) {
                for (int head = 0; head < heads.valueHeads(); head++) {
                    int at = context + token * layout.contextStride() + head * heads.valueDim();
                    normalise(scratch, part.norm(), rows, at);
                    int gate = token * layout.stride() + layout.gatesAt() + head * heads.valueDim();
                    float[] z = row(scratch, ROW, rows, gate, heads.valueDim());
                    Silu.apply(z, 0, padded, scratch.floats(BUFFER, ActivationOps.bufferLength(padded)));
                    for (int i = 0; i < heads.valueDim(); i++) {
                        rows[at + i] *= z[i];
                    }
                }
            }
        }
    }
}

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
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The steps of a recurrence of heads between its products, in three loops. The first loop is over tokens, and computes inputs. The second loop
 * is over sequences, heads and panels of 32 columns, and computes the tokens of a sequence in order. The third loop is over tokens, and
 * computes results.
 */
abstract class RecurrentPass {
    /** The number of floats of a token's gates (the decay and the rate) in the kernels. */
    private static final int GATES = DeltaRule.GATES;

    /** The number of tokens whose values are copied together: the values and a panel fit in L1. */
    private static final int BLOCK = 64;

    private static final FloatsKey VALUES = new FloatsKey();
    private static final FloatsKey TOKEN_GATES = new FloatsKey();
    private static final FloatsKey GATE = new FloatsKey();
    private static final FloatsKey BUFFER = new FloatsKey();

    private final Inputs inputs = new Inputs();
    private final Steps steps = new Steps();
    private final Outputs outputs = new Outputs();

    private @Nullable StateRows layout;
    private @Nullable TokenBatch batch;
    private float[] rows = new float[0];
    private float[][] states = {};
    /** The index of the first row of results. */
    private int context;

    /** Changes the rows of a batch and the states of its sequences, which {@link Buffers#takeStates} returned. */
    final void loops(Compute cpu, StateRows newLayout, float[] newRows, TokenBatch newBatch, float[][] newStates) {
        layout = newLayout;
        batch = newBatch;
        rows = newRows;
        states = newStates;
        int tokens = newBatch.tokens();
        context = tokens * newLayout.stride();
        try {
            inputs.start(cpu, tokens, newLayout.stride());
            long tasks = (long) newBatch.sequences() * newLayout.heads() * newLayout.panels();
            steps.start(cpu, tasks, (long) newLayout.panel() * tokens / newBatch.sequences());
            outputs.start(cpu, tokens, newLayout.contextStride());
        } finally {
            layout = null;
            batch = null;
        }
    }

    /**
     * Computes the inputs of a token.
     *
     * @param all rows of all tokens
     * @param at index of the token's row
     */
    abstract void inputs(float[] all, int at, Workspace scratch);

    /**
     * Computes tokens of a sequence in order.
     *
     * @param head the head of the state
     * @param tokens number of tokens
     * @param state the state of the sequence
     * @param s0 index of the panel
     * @param all rows of all tokens
     * @param at index of the first token's row
     * @param values 32 values of each token, replaced by the results
     * @param gates the decay and the rate of each token
     */
    abstract void steps(
            int head, int tokens, float[] state, int s0, float[] all, int at, float[] values, float[] gates);

    /**
     * Changes the results of a token.
     *
     * @param all rows of all tokens
     * @param at index of the token's row
     * @param to index of its results
     */
    abstract void outputs(float[] all, int at, int to, Workspace scratch);

    /** Copies a row to scratch, with zeros after it. */
    static float[] row(Workspace scratch, FloatsKey key, float[] from, int at, int count) {
        int padded = PartLayout.stride(count);
        float[] row = scratch.floats(key, padded);
        System.arraycopy(from, at, row, 0, count);
        Arrays.fill(row, count, padded, 0f);
        return row;
    }

    /** Returns SiLU of some elements of a row, in scratch. */
    static float[] silu(Workspace scratch, float[] from, int at, int count) {
        float[] gate = row(scratch, GATE, from, at, count);
        int padded = PartLayout.stride(count);
        Silu.apply(gate, 0, padded, scratch.floats(BUFFER, ActivationOps.bufferLength(padded)));
        return gate;
    }

    private StateRows layout() {
        return Checks.notNull(layout, "layout");
    }

    private abstract static class Loop extends RowLoop {
        void start(Compute cpu, long count, long elements) {
            run(cpu, count, elements);
        }
    }

    private final class Inputs extends Loop {
        @Override
        protected void rows(long first, long end, Workspace scratch) {
            int stride = layout().stride();
            for (int token = (int) first; token < end; token++) {
                inputs(rows, token * stride, scratch);
            }
        }
    }

    private final class Steps extends Loop {
        @Override
        protected void rows(long first, long end, Workspace scratch) {
            int panels = layout().panels();
            int ofSequence = layout().heads() * panels;
            for (long task = first; task < end; task++) {
                int panel = (int) (task % ofSequence);
                sequence((int) (task / ofSequence), panel / panels, panel % panels, scratch);
            }
        }

        private void sequence(int sequence, int head, int panel, Workspace scratch) {
            StateRows of = layout();
            TokenBatch tokens = Checks.notNull(batch, "batch");
            int stride = of.stride();
            int column = head * of.columns() + panel * PANEL;
            int columns = Math.min(PANEL, of.columns() - panel * PANEL);
            int state = (head * of.panels() + panel) * of.panel();
            float[] values = scratch.floats(VALUES, BLOCK * PANEL);
            float[] gates = scratch.floats(TOKEN_GATES, BLOCK * GATES);
            int last = tokens.start(sequence + 1);
            for (int token = tokens.start(sequence); token < last; token += BLOCK) {
                int count = Math.min(BLOCK, last - token);
                for (int i = 0; i < count; i++) {
                    int at = (token + i) * stride;
                    System.arraycopy(rows, at + of.valuesAt() + column, values, i * PANEL, columns);
                    Arrays.fill(values, i * PANEL + columns, (i + 1) * PANEL, 0f);
                    gates[i * GATES] = rows[at + of.decaysAt() + head];
                    gates[i * GATES + 1] = rows[at + of.ratesAt() + head];
                }
                steps(head, count, states[sequence], state, rows, token * stride, values, gates);
                for (int i = 0; i < count; i++) {
                    int to = context + (token + i) * of.contextStride() + column;
                    System.arraycopy(values, i * PANEL, rows, to, columns);
                }
            }
        }
    }

    private final class Outputs extends Loop {
        @Override
        protected void rows(long first, long end, Workspace scratch) {
            StateRows of = layout();
            for (int token = (int) first; token < end; token++) {
                outputs(rows, token * of.stride(), context + token * of.contextStride(), scratch);
            }
        }
    }
}

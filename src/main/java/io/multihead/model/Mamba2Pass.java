package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.StateSpace;
import io.multihead.internal.nn.RowNorm;
import org.jspecify.annotations.Nullable;

/**
 * The steps of Mamba-2 between its convolution and the last product: rates and decays of each token; the recurrence; and the gates and norms of
 * each token's results.
 */
final class Mamba2Pass extends RecurrentPass {
    private static final FloatsKey PARTIAL = new FloatsKey();

    private @Nullable Mamba2Rules rules;

    void run(Compute cpu, Mamba2Rules part, float[] rows, TokenBatch batch, float[][] states) {
        rules = part;
        try {
            loops(cpu, part.layout(), rows, batch, states);
        } finally {
            rules = null;
        }
    }

    private Mamba2Rules part() {
        return Checks.notNull(rules, "part");
    }

    @Override
    void inputs(float[] rows, int at, Workspace scratch) {
        Mamba2Rules part = part();
        for (int head = 0; head < part.layout().heads(); head++) {
            int rate = at + part.layout().ratesAt() + head;
            double step = part.decay().step(head, rows[rate]);
            rows[rate] = (float) step;
            rows[at + part.layout().decaysAt() + head] = part.decay().factor(head, step);
        }
    }

    @Override
    void steps(int head, int tokens, float[] state, int s0, float[] rows, int at, float[] values, float[] gates) {
        Mamba2Layout layout = part().layout();
        int c = at + layout.readAt(head);
        int b = at + layout.writeAt(head);
        StateSpace.panel(tokens, state, s0, layout.depth(), rows, c, b, layout.stride(), values, gates);
    }

    @Override
    void outputs(float[] rows, int at, int to, Workspace scratch) {
        int x = at + part().layout().valuesAt();
        int dim = part().layout().columns();
        for (int head = 0; head < part().layout().heads(); head++) {
            float skip = part().skip()[head];
            for (int i = head * dim; i < (head + 1) * dim; i++) {
                rows[to + i] = Math.fma(skip, rows[x + i], rows[to + i]);
            }
        }
        int done = 0;
        for (RowNorm norm : part().norms()) {
            float[] row = silu(scratch, rows, at + done, norm.length());
            for (int i = 0; i < norm.length(); i++) {
                row[i] *= rows[to + done + i];
            }
            norm.apply(row, scratch.floats(PARTIAL, PANEL));
            System.arraycopy(row, 0, rows, to + done, norm.length());
            done += norm.length();
        }
    }
}

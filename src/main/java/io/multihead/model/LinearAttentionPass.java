package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.DeltaRule;
import io.multihead.internal.nn.RowNorm;
import org.jspecify.annotations.Nullable;

/**
 * The steps of linear attention between its products: norms of queries and keys, rates and decays of each token; the gated delta rule; and the
 * norm and gates of each token's results.
 */
final class LinearAttentionPass extends RecurrentPass {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey PARTIAL = new FloatsKey();

    private @Nullable LinearAttentionRules rules;

    void run(Compute cpu, LinearAttentionRules part, float[] rows, TokenBatch batch, float[][] states) {
        rules = part;
        try {
            loops(cpu, part.layout(), rows, batch, states);
        } finally {
            rules = null;
        }
    }

    private LinearAttentionRules part() {
        return Checks.notNull(rules, "part");
    }

    private static void normalize(Workspace scratch, RowNorm norm, float[] rows, int at) {
        float[] row = row(scratch, ROW, rows, at, norm.length());
        norm.apply(row, scratch.floats(PARTIAL, PANEL));
        System.arraycopy(row, 0, rows, at, norm.length());
    }

    @Override
    void inputs(float[] rows, int at, Workspace scratch) {
        LinearAttentionRules part = part();
        LinearHeads heads = part.heads();
        for (int head = 0; head < heads.keyHeads(); head++) {
            normalize(scratch, part.queryNorm(), rows, at + head * heads.keyDim());
            normalize(scratch, part.keyNorm(), rows, at + heads.keyWidth() + head * heads.keyDim());
        }
        for (int head = 0; head < heads.valueHeads(); head++) {
            int rate = at + part.layout().ratesAt() + head;
            int decay = at + part.layout().decaysAt() + head;
            rows[rate] = LinearDecay.sigmoid(rows[rate]);
            rows[decay] = part.decay().factor(head, part.decay().step(head, rows[decay]));
        }
    }

    @Override
    void steps(int head, int tokens, float[] state, int s0, float[] rows, int at, float[] values, float[] gates) {
        LinearAttentionLayout layout = part().layout();
        int query = at + layout.readAt(head);
        int key = at + layout.writeAt(head);
        DeltaRule.panel(tokens, state, s0, layout.depth(), rows, query, key, layout.stride(), values, gates);
    }

    @Override
    void outputs(float[] rows, int at, int to, Workspace scratch) {
        LinearAttentionRules part = part();
        int dim = part.heads().valueDim();
        for (int head = 0; head < part.heads().valueHeads(); head++) {
            int result = to + head * dim;
            normalize(scratch, part.norm(), rows, result);
            float[] z = silu(scratch, rows, at + part.layout().gatesAt() + head * dim, dim);
            for (int i = 0; i < dim; i++) {
                rows[result + i] *= z[i];
            }
        }
    }
}

package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a call that each expert computes. Experts are chosen for each token, rows are gathered by expert, and the results of a token are
 * added up in the order of the experts.
 */
final class ExpertRows {
    private static final FloatsKey SUM = new FloatsKey();
    private static final FloatsKey ROW = new FloatsKey();
    private static final ScratchKey<Scores> SCORES = ScratchKey.of(Scores::new);

    /** Scores of one token. */
    private static final class Scores {
        double[] scores = {};
    }

    /** The experts of each token, ascending. */
    private int[] ids = {};

    private float[] factors = {};
    /** The row that each expert of a token computes. */
    private int[] rows = {};
    /** The first row of each expert, and the end of the last expert's rows. */
    private int[] starts = {};

    private float[] buffer = {};
    private int at;
    private int stride;
    private int used;
    private @Nullable Router router;
    private @Nullable Tensor outside;
    private final Pass choice = new Pass(this::choose);
    private final Pass copy = new Pass(this::gather);
    private final Pass sum = new Pass((token, scratch) -> sum(token, scratch, false));
    private final Pass addition = new Pass((token, scratch) -> sum(token, scratch, true));

    private interface OfToken {
        void run(int token, Workspace scratch);
    }

    /** One of the passes over the tokens. */
    private static final class Pass extends RowLoop {
        private final OfToken body;

        Pass(OfToken body) {
            this.body = body;
        }

        void start(Compute cpu, int tokens, long elements) {
            run(cpu, tokens, elements);
        }

        @Override
        protected void rows(long first, long end, Workspace scratch) {
            for (int token = (int) first; token < end; token++) {
                body.run(token, scratch);
            }
        }
    }

    /** Chooses experts by the logits in a buffer, and returns the first row of each expert, in an array that may be longer. */
    int[] choose(Compute cpu, Router by, float[] logits, int logitStride, int tokens) {
        used = by.used();
        int count = tokens * used;
        if (ids.length < count) {
            ids = new int[count];
            factors = new float[count];
            rows = new int[count];
        }
        if (starts.length <= by.experts()) {
            starts = new int[by.experts() + 1];
        }
        buffer = logits;
        stride = logitStride;
        router = by;
        try {
            choice.start(cpu, tokens, by.experts());
        } finally {
            router = null;
        }
        Arrays.fill(starts, 0);
        for (int i = 0; i < count; i++) {
            starts[ids[i] + 1]++;
        }
        for (int expert = 0; expert < by.experts(); expert++) {
            starts[expert + 1] += starts[expert];
        }
        // each start moves to the end of its expert's rows, which is the start of the next expert
        for (int i = 0; i < count; i++) {
            rows[i] = starts[ids[i]]++;
        }
        System.arraycopy(starts, 0, starts, 1, by.experts());
        starts[0] = 0;
        return starts;
    }

    private void choose(int token, Workspace scratch) {
        Router by = Checks.notNull(router, "router");
        Scores of = scratch.get(SCORES);
        if (of.scores.length < by.experts()) {
            of.scores = new double[by.experts()];
        }
        by.choose(buffer, token * stride, ids, factors, token * used, of.scores);
    }

    /** Copies the tokens' rows of x to the rows of their experts. */
    void gather(Compute cpu, Tensor x, float[] to, int toAt, int toStride) {
        bind(x, to, toAt, toStride);
        try {
            copy.start(cpu, (int) x.dim(0), (long) used * toStride);
        } finally {
            outside = null;
        }
    }

    private void bind(Tensor tensor, float[] newBuffer, int newAt, int newStride) {
        outside = tensor;
        buffer = newBuffer;
        at = newAt;
        stride = newStride;
    }

    private void gather(int token, Workspace scratch) {
        Tensor x = Checks.notNull(outside, "x");
        int dim = (int) x.dim(1);
        int first = at + rows[token * used] * stride;
        scratch.packer().read(x, Positions.of(x, token, 0), 0, x.stride(1), 1, dim, buffer, first, 0);
        for (int i = 1; i < used; i++) {
            System.arraycopy(buffer, first, buffer, at + rows[token * used + i] * stride, stride);
        }
    }

    /** Writes each token's sum of its experts' rows times their factors to y, or adds it. */
    void add(Compute cpu, float[] from, int fromAt, int fromStride, Tensor y, boolean adds) {
        bind(y, from, fromAt, fromStride);
        try {
            (adds ? addition : sum).start(cpu, (int) y.dim(0), (long) used * fromStride);
        } finally {
            outside = null;
        }
    }

    private void sum(int token, Workspace scratch, boolean adds) {
        Tensor y = Checks.notNull(outside, "y");
        int dim = (int) y.dim(1);
        float[] total = scratch.floats(SUM, stride);
        Arrays.fill(total, 0, dim, 0f);
        for (int i = token * used; i < (token + 1) * used; i++) {
            int from = at + rows[i] * stride;
            float factor = factors[i];
            for (int column = 0; column < dim; column++) {
                total[column] += factor * buffer[from + column];
            }
        }
        long to = Positions.of(y, token, 0);
        if (adds) {
            float[] row = scratch.floats(ROW, stride);
            scratch.packer().read(y, to, 0, y.stride(1), 1, dim, row, 0, 0);
            RowOps.add(total, 0, stride, row, 0);
        }
        scratch.packer().write(total, 0, 0, 1, dim, y, to, 0, y.stride(1));
    }
}

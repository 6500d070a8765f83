package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.ScoreOps;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Computes {@code x = cap tanh(x / cap)} for every element of a matrix of the caller, in chunks of its rows. */
final class SoftCapPass extends RowLoop {
    private static final int CHUNK = 1024;
    private static final FloatsKey ROW = new FloatsKey();

    private @Nullable Tensor matrix;
    private float cap;
    private long chunks;

    void run(Compute cpu, Tensor x, float newCap) {
        matrix = x;
        cap = newCap;
        chunks = Math.ceilDiv(x.dim(1), (long) CHUNK);
        try {
            run(cpu, x.dim(0) * chunks, CHUNK);
        } finally {
            matrix = null;
        }
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        Tensor x = Checks.notNull(matrix, "matrix");
        float[] row = scratch.floats(ROW, CHUNK);
        for (long chunk = first; chunk < end; chunk++) {
            long column = chunk % chunks * CHUNK;
            int columns = (int) Math.min(CHUNK, x.dim(1) - column);
            long at = Positions.of(x, chunk / chunks, column);
            scratch.packer().read(x, at, 0, x.stride(1), 1, columns, row, 0, 0);
            ScoreOps.softCap(row, 0, PartLayout.stride(columns), cap);
            scratch.packer().write(row, 0, 0, 1, columns, x, at, 0, x.stride(1));
        }
    }
}

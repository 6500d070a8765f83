package io.multihead.internal.position;

import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** One call of the rotation, divided into tiles of tokens and groups of heads. */
public final class RopeCall extends Operation implements LoopBody {
    /** The key of the call that each workspace keeps. */
    public static final ScratchKey<RopeCall> CALL = ScratchKey.of(RopeCall::new);

    private static final ScratchKey<RopeTile> TILE = ScratchKey.of(RopeTile::new);
    /** The number of elements below which a task is not worth another thread. */
    private static final long LEAST = 1 << 14;

    private final RopeProblem problem = new RopeProblem();
    private long heads;
    private long matrices;
    private long groups;
    private long perGroup;

    private RopeCall() {}

    /**
     * Rotates tokens at positions.
     *
     * @param x {@code [batch, heads, tokens, headDim]}, floating-point
     * @param y the same shape, written
     * @param angles the angles of all positions
     * @param positions the positions of all tokens, or null if they are consecutive
     * @param first position of the first token, if there is no array
     * @param direction 1, or -1 for the inverse
     */
    public void run(
            Tensor x, Tensor y, PositionAngles angles, long @Nullable [] positions, long first, float direction) {
        problem.bindTensors(x, y, direction);
        problem.bindAngles(angles, positions, first);
        run(this, divide(parallelism()));
    }

    /** Rotates each token by its own angles. */
    public void run(Tensor x, Tensor y, AngleTensors angles, float direction) {
        problem.bindTensors(x, y, direction);
        problem.bindAngles(angles);
        run(this, divide(parallelism()));
    }

    /** Returns the number of tasks: tiles of tokens, each divided into groups of heads if there are fewer tiles than threads need. */
    private long divide(int threads) {
        Tensor x = problem.x();
        heads = x.dim(1);
        matrices = x.dim(0) * heads;
        long tokens = x.dim(2);
        long tiles = Math.ceilDiv(tokens, RopeTile.TOKENS);
        if (tiles == 0 || matrices == 0) {
            return 0;
        }
        long wanted = threads == 1 ? 1 : Math.ceilDiv((long) threads * TASKS_PER_THREAD, tiles);
        long least = LEAST / (Math.min(RopeTile.TOKENS, tokens) * x.dim(3));
        perGroup = Math.max(Math.max(1, least), Math.ceilDiv(matrices, wanted));
        groups = Math.ceilDiv(matrices, perGroup);
        return tiles * groups;
    }

    @Override
    public void run(long task, Workspace scratch) {
        RopeTile tile = scratch.get(TILE);
        try {
            tile.open(problem, task / groups * RopeTile.TOKENS, scratch);
            long group = task % groups;
            for (long m = group * perGroup; m < Math.min(matrices, (group + 1) * perGroup); m++) {
                long batch = m / heads;
                tile.loadAngles(batch);
                tile.rotate(batch, m % heads);
            }
        } finally {
            tile.close();
        }
    }

    /** Releases the caller's memory. */
    @Override
    protected void clear() {
        problem.clear();
    }
}

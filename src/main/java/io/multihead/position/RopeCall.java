package io.multihead.position;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** One call of the rotation, divided into tiles of tokens and groups of heads. */
final class RopeCall extends Operation implements LoopBody {
    private static final ScratchKey<RopeTile> TILE = ScratchKey.of(RopeTile::new);
    private static final int UNITS_PER_THREAD = 4;
    /** Elements below which a unit is not worth another thread. */
    private static final long LEAST = 1 << 14;

    float direction;
    int rotaryDims;
    /** Whether what is copied is there already. */
    boolean inPlace;

    private @Nullable Rope rope;
    private @Nullable Tensor x;
    private @Nullable Tensor y;
    private long @Nullable [] positions;
    private long first;
    private long matrices;
    private long groups;
    private long perGroup;

    void bind(Rope newRope, Tensor newX, Tensor newY, float newDirection) {
        rope = newRope;
        x = newX;
        y = newY;
        direction = newDirection;
        rotaryDims = newRope.config().rotaryDims();
        inPlace = RopeChecks.sameElements(newX, newY);
        matrices = newX.dim(0) * newX.dim(1);
    }

    void place(long @Nullable [] newPositions, long newFirst) {
        positions = newPositions;
        first = newFirst;
    }

    void run() {
        run(this, divide(parallelism()));
    }

    /** The number of units: tiles of tokens, each in groups of heads where there are fewer tiles than threads need. */
    private long divide(int threads) {
        long tokens = x().dim(2);
        long tiles = Math.ceilDiv(tokens, RopeTile.TOKENS);
        if (tiles == 0 || matrices == 0) {
            return 0;
        }
        long wanted = threads == 1 ? 1 : Math.ceilDiv((long) threads * UNITS_PER_THREAD, tiles);
        long least = LEAST / (Math.min(RopeTile.TOKENS, tokens) * x().dim(3));
        perGroup = Math.max(Math.max(1, least), Math.ceilDiv(matrices, wanted));
        groups = Math.ceilDiv(matrices, perGroup);
        return tiles * groups;
    }

    @Override
    public void run(long unit, Workspace scratch) {
        RopeTile tile = scratch.get(TILE);
        try {
            tile.open(this, unit / groups * RopeTile.TOKENS, scratch);
            long group = unit % groups;
            for (long m = group * perGroup; m < Math.min(matrices, (group + 1) * perGroup); m++) {
                tile.turn(m / x().dim(1), m % x().dim(1));
            }
        } finally {
            tile.close();
        }
    }

    Tensor x() {
        return Checks.notNull(x, "x");
    }

    Tensor y() {
        return Checks.notNull(y, "y");
    }

    AngleTable angles() {
        return rope().angles();
    }

    private Rope rope() {
        return Checks.notNull(rope, "rope");
    }

    long position(long token) {
        return positions == null ? first + token : positions[(int) token];
    }

    boolean rests(long token) {
        return rope().rests(position(token));
    }

    /** Forgets the caller's memory. */
    @Override
    protected void clear() {
        rope = null;
        x = null;
        y = null;
        positions = null;
    }
}

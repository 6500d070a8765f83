package io.multihead.position;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TokenPositions;
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
    private @Nullable TokenAngles given;
    private @Nullable Tensor x;
    private @Nullable Tensor y;
    private final TokenPositions positions = new TokenPositions();
    private long first;
    private long matrices;
    private long groups;
    private long perGroup;

    /** Binds the tensors, and an embedding whose positions {@link #bindPositions} binds. */
    void bind(Rope newRope, Tensor newX, Tensor newY, float newDirection) {
        rope = newRope;
        bindTensors(newX, newY, newRope.rotaryDims(), newDirection);
    }

    /** Binds the tensors, and the angles of their tokens. */
    void bind(TokenAngles newGiven, Tensor newX, Tensor newY, float newDirection) {
        given = newGiven;
        bindTensors(newX, newY, newGiven.rotaryDims(), newDirection);
    }

    private void bindTensors(Tensor newX, Tensor newY, int newRotaryDims, float newDirection) {
        x = newX;
        y = newY;
        direction = newDirection;
        rotaryDims = newRotaryDims;
        inPlace = RopeChecks.sameElements(newX, newY);
        matrices = newX.dim(0) * newX.dim(1);
    }

    /** Binds the positions of all tokens, or the first of consecutive ones. */
    void bindPositions(long @Nullable [] newPositions, long newFirst) {
        positions.bind(newPositions, x().dim(0), x().dim(2));
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
                long batch = m / x().dim(1);
                tile.loadAngles(batch);
                tile.rotate(batch, m % x().dim(1));
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

    AngleLayout layout() {
        TokenAngles tensors = given;
        return tensors == null ? rope().angles().layout() : tensors.layout();
    }

    /** Returns the cosines and sines of the tokens themselves, or null where there are positions. */
    @Nullable
    TokenAngles given() {
        return given;
    }

    private Rope rope() {
        return Checks.notNull(rope, "rope");
    }

    /** Returns whether each sequence has angles of its own. */
    boolean hasAnglesPerBatch() {
        TokenAngles tensors = given;
        return tensors == null ? positions.isPerBatch() : tensors.cos().rank() == 3;
    }

    /** Writes the cosines and sines of a token. */
    void load(long batch, long token, float[] to, int at) {
        long[] all = positions.array();
        if (all == null) {
            rope().angles().load(first + token, to, at);
        } else {
            rope().load(all, positions.index(batch, token), positions.streamStride(), to, at);
        }
    }

    /** Returns whether a token is copied. */
    boolean isIdentity(long batch, long token) {
        if (given != null) {
            return false;
        }
        long[] all = positions.array();
        return all == null
                ? rope().isIdentity(first + token)
                : rope().isIdentity(all, positions.index(batch, token), positions.streamStride());
    }

    /** Releases the caller's memory. */
    @Override
    protected void clear() {
        rope = null;
        given = null;
        x = null;
        y = null;
        positions.clear();
    }
}

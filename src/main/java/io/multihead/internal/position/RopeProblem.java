package io.multihead.internal.position;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TokenPositions;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The tensors of one call, and the angles of their tokens. It is bound before the call runs. During the call, all threads
 * only read it.
 */
final class RopeProblem {
    float direction;
    int rotaryDims;
    /** Whether the copied elements are already in their place. */
    boolean inPlace;

    private @Nullable PositionAngles angles;
    private @Nullable AngleTensors given;
    private @Nullable Tensor x;
    private @Nullable Tensor y;
    private final TokenPositions positions = new TokenPositions();
    private long first;

    void bindTensors(Tensor newX, Tensor newY, float newDirection) {
        x = newX;
        y = newY;
        direction = newDirection;
        inPlace = RopeChecks.sameElements(newX, newY);
    }

    /** Binds the angles of positions, and the positions of all tokens, or the first of consecutive positions. */
    void bindAngles(PositionAngles newAngles, long @Nullable [] newPositions, long newFirst) {
        angles = newAngles;
        rotaryDims = newAngles.rotaryDims();
        positions.bind(newPositions, x().dim(0), x().dim(2));
        first = newFirst;
    }

    /** Binds the angles of the tokens themselves. */
    void bindAngles(AngleTensors newGiven) {
        given = newGiven;
        rotaryDims = 2 * newGiven.layout().pairs();
    }

    Tensor x() {
        return Checks.notNull(x, "x");
    }

    Tensor y() {
        return Checks.notNull(y, "y");
    }

    AngleLayout layout() {
        AngleTensors tensors = given;
        return tensors == null ? angles().layout() : tensors.layout();
    }

    /** Returns the cosines and sines of the tokens themselves, or null if there are positions. */
    @Nullable
    AngleTensors given() {
        return given;
    }

    private PositionAngles angles() {
        return Checks.notNull(angles, "angles");
    }

    boolean hasAnglesPerBatch() {
        AngleTensors tensors = given;
        return tensors == null ? positions.isPerBatch() : tensors.isPerBatch();
    }

    /** Writes the cosines and sines of a token. */
    void load(long batch, long token, float[] to, int at) {
        long[] all = positions.array();
        if (all == null) {
            angles().load(first + token, to, at);
        } else {
            angles().load(all, positions.index(batch, token), positions.streamStride(), to, at);
        }
    }

    boolean isIdentity(long batch, long token) {
        if (given != null) {
            return false;
        }
        long[] all = positions.array();
        return all == null
                ? angles().isIdentity(first + token)
                : angles().isIdentity(all, positions.index(batch, token), positions.streamStride());
    }

    /** Releases the caller's memory. */
    void clear() {
        angles = null;
        given = null;
        x = null;
        y = null;
        positions.clear();
    }
}

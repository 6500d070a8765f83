package io.multihead.decoder;

import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** New tokens of one session that go through the model together with those of others, and the logits that come back. Reused. */
final class Step {
    /** The outcome of a step that did not fail. */
    enum Outcome {
        /** Its keys and values are in the cache, and its logits are there. */
        COMPUTED,
        /**
         * The cache has other tokens of the session than those before the step, {@link Step#cached} of them: fewer, as others have taken room,
         * or more, which a session before it has left.
         */
        MOVED,
        /** There is no room for it now. */
        NO_ROOM
    }

    final CachedSequence sequence;
    /** Logits by row, for the last rows of a step; lent for a call. */
    final List<float[]> logits = new ArrayList<>();

    /** The session's tokens, of which this step has {@link #count} from {@link #from} on. */
    int[] tokens = {};

    int from;
    int count;
    /** The last so many tokens have logits. */
    int rows;
    /** Tokens that wait behind those of this step. A step begins only if there is room for these, too. */
    int behind;

    /** Whether the sequence may have to go back to where this step begins. */
    boolean snapshots;

    /** By layer, where the attention weights of its tokens go, null for nowhere; empty if none are wanted. */
    List<@Nullable Tensor> attention = List.of();

    int uses;

    boolean isDone;
    Outcome outcome = Outcome.COMPUTED;
    int cached;

    @Nullable
    Throwable failure;

    Step(CachedSequence sequence) {
        this.sequence = sequence;
    }

    float[] logits(int row, LogitRows rowsOfLogits) {
        while (logits.size() <= row) {
            logits.add(rowsOfLogits.take());
        }
        return logits.get(row);
    }

    Step set(int[] newTokens, int newFrom, int newCount, int newRows, int newBehind) {
        tokens = newTokens;
        from = newFrom;
        count = newCount;
        rows = newRows;
        behind = newBehind;
        snapshots = false;
        attention = List.of();
        uses++;
        isDone = false;
        outcome = Outcome.COMPUTED;
        failure = null;
        return this;
    }

    Step withSnapshot(boolean isWanted) {
        snapshots = isWanted;
        return this;
    }

    Step withAttention(List<@Nullable Tensor> weights) {
        attention = weights;
        return this;
    }
}

package io.multihead.decoder;

import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** New tokens of one session that go through the model together with the tokens of other sessions, and the resulting logits. Reused. */
final class Step {
    /** The outcome of a step that did not fail. */
    enum Outcome {
        /** Its keys and values are in the cache, and its logits are available. */
        COMPUTED,
        /**
         * The cache has another number of tokens of the session than before the step, {@link Step#cached}: fewer, because others evicted
         * them, or more, because an earlier session left them.
         */
        MOVED,
        /** There is currently no room for it. */
        NO_ROOM
    }

    final CachedSequence sequence;
    /** Logits by row, for the last rows of a step; borrowed for a call. */
    final List<float[]> logits = new ArrayList<>();

    /** The session's tokens, of which this step has {@link #count} from {@link #from} on. */
    int[] tokens = {};

    int from;
    int count;
    /** The number of last tokens with logits. */
    int rows;
    /** Waiting tokens after the tokens of this step. A step begins only if there is room for these tokens, too. */
    int behind;

    /** Whether the sequence may later be truncated to the start of this step. */
    boolean snapshots;

    /** By layer, the destination of the attention weights of its tokens, null for none; empty if no weights are requested. */
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

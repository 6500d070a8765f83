package io.multihead.decoder;

import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * New tokens of one session that go through the model together with the tokens of other sessions, and the resulting logits. Steps are
 * reused.
 */
final class Step {
    /** The outcome of a step that did not fail. */
    enum Outcome {
        /** The keys and values of the step are in the cache, and its logits are available. */
        COMPUTED,
        /**
         * The cache has {@link Step#cached} tokens of the session, another number than the step requires: fewer if other sessions evicted
         * some of them, or more if an earlier session left them.
         */
        MOVED,
        /** There is currently no room for the step. */
        NO_ROOM
    }

    final CachedSequence sequence;
    /** Logits by row, for the last rows of a step; borrowed for a call. */
    final List<float[]> logits = new ArrayList<>();

    /** The session's tokens. This step has {@link #count} of them, beginning at {@link #from}. */
    int[] tokens = {};

    int from;
    int count;
    /** The number of tokens with logits, at the end of the step. */
    int rows;
    /** The number of waiting tokens after the tokens of this step. A step begins only if there is room for these tokens, too. */
    int behind;

    /** Whether the sequence may later be truncated to the start of this step. */
    boolean snapshots;

    /** The destinations of the attention weights of the step's tokens, by layer, null for none; empty if no weights are requested. */
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

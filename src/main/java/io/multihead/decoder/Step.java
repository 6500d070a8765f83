package io.multihead.decoder;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** New tokens of one session that go through the model together with those of others, and the logits that come back. Reused. */
final class Step {
    final int sequence;
    /** Logits by row, for the last rows of a step. */
    final List<float[]> logits = new ArrayList<>();

    /** The session's tokens, of which this step has {@link #count} from {@link #from} on. */
    int[] tokens = {};

    int from;
    int count;
    /** The last so many tokens have logits. */
    int rows;

    boolean isDone;

    @Nullable
    Throwable failure;

    Step(int sequence) {
        this.sequence = sequence;
    }

    /** Returns the array for a row of logits. */
    float[] logits(int row, int length) {
        while (logits.size() <= row) {
            logits.add(new float[length]);
        }
        return logits.get(row);
    }

    Step set(int[] newTokens, int newFrom, int newCount, int newRows) {
        tokens = newTokens;
        from = newFrom;
        count = newCount;
        rows = newRows;
        isDone = false;
        failure = null;
        return this;
    }
}

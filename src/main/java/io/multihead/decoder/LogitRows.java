package io.multihead.decoder;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** Lends rows of logits to running calls. Sessions that no call uses have no rows. Thread-safe. */
final class LogitRows {
    /** The number of rows that are kept for the next calls. */
    private static final int MOST_IDLE = 32;

    private final int length;
    private final Deque<float[]> idle = new ArrayDeque<>();

    LogitRows(int length) {
        this.length = length;
    }

    float[] take() {
        synchronized (idle) {
            float[] last = idle.pollLast();
            if (last != null) {
                return last;
            }
        }
        return new float[length];
    }

    /** Takes back all rows of a list, and empties it. */
    void giveBack(List<float[]> rows) {
        synchronized (idle) {
            for (int i = 0; i < rows.size() && idle.size() < MOST_IDLE; i++) {
                idle.addLast(rows.get(i));
            }
        }
        rows.clear();
    }
}

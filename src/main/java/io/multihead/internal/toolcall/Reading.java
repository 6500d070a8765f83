package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;

/**
 * The parts known of the calls that begin at the beginning of a text.
 *
 * @param calls the calls, of which the last one may go on
 * @param state whether more text is needed
 * @param end where the text goes on behind them; 0 while they go on
 * @param problem why it is broken; empty otherwise
 */
record Reading(List<Part> calls, State state, int end, String problem) {
    /** Whether a text has calls. */
    enum State {
        /** More text is needed. */
        OPEN,
        /** All are complete. */
        CALLS,
        /** They are neither complete nor anything else. */
        BROKEN,
        /** It has no calls. */
        TEXT
    }

    /** A call as far as it is known: it ends at 0 while it goes on. */
    record Part(Call call, int end) {}

    Reading {
        calls = List.copyOf(calls);
    }

    static Reading open(List<Part> calls) {
        return new Reading(calls, State.OPEN, 0, "");
    }

    static Reading calls(List<Part> calls, int end) {
        return new Reading(calls, State.CALLS, end, "");
    }

    static Reading text(int end) {
        return new Reading(List.of(), State.TEXT, end, "");
    }

    static Reading broken(List<Part> calls, int end, String problem) {
        return new Reading(calls, State.BROKEN, end, problem);
    }

    /** Broken if the answer has ended, and otherwise open. */
    static Reading unfinished(List<Part> calls, String text, boolean ended, String expected) {
        return ended ? broken(calls, text.length(), problem(text, "expected " + expected)) : open(calls);
    }

    /** Returns the message of a text that is no call. */
    static String problem(String text, String expected) {
        String shortened = text.length() > 100 ? text.substring(0, 100) + " ..." : text;
        return "tool call: " + shortened + "; " + expected;
    }

    static List<Part> with(List<Part> calls, Part more) {
        List<Part> all = new ArrayList<>(calls);
        all.add(more);
        return all;
    }
}

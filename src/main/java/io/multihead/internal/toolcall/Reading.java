package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;

/**
 * The known parts of the calls at the beginning of a text.
 *
 * @param calls the calls, of which the last one may continue
 * @param state whether more text is needed
 * @param end the end of the calls, where the text continues; 0 while the calls continue
 * @param problem the reason why the text is malformed; empty otherwise
 */
record Reading(List<Part> calls, State state, int end, String problem) {
    /** Whether a text has calls. */
    enum State {
        /** More text is needed. */
        OPEN,
        /** All calls are complete. */
        CALLS,
        /** The text is malformed. */
        BROKEN,
        /** The text has no calls. */
        TEXT
    }

    /** The known part of a call, whose end is 0 while the call continues. */
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

    /** Returns a reading that is malformed if the answer has ended, and otherwise open. */
    static Reading unfinished(List<Part> calls, String text, boolean ended, String expected) {
        return ended ? broken(calls, text.length(), problem(text, "expected " + expected)) : open(calls);
    }

    /** Returns the message of a text that is not a call. */
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

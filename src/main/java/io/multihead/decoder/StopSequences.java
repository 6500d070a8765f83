package io.multihead.decoder;

import java.util.List;

/**
 * Finds stop sequences in a text that grows, and holds back a possible beginning of a stop sequence. The text ends at the beginning of the
 * first stop sequence. If two stop sequences overlap, the one that begins first counts. Therefore a complete stop sequence waits while an
 * earlier one may still become complete, and the result depends on the whole text and not on its parts. A text may continue the text of an
 * earlier call. A stop sequence that began in the earlier text is found when it becomes complete. Each text needs a new object.
 */
final class StopSequences {
    private final List<String> stops;
    private final StringBuilder held = new StringBuilder();
    private boolean found;
    /** The number of characters at the start of the held text that an earlier call returned. */
    private int given;

    /**
     * Begins a text, or continues a text of which a part has been returned.
     *
     * @param before the end of the returned text, at least as long as {@link #longestBegin}, or the whole returned text if it is shorter;
     *     complete stop sequences in this text have no effect
     */
    StopSequences(List<String> stops, String before) {
        this.stops = stops;
        held.append(before);
        given = before.length();
        drop(first(false));
    }

    /** Returns the length of the longest stop sequence without its last character; 0 if there are no stop sequences. */
    static int longestBegin(List<String> stops) {
        return stops.stream().mapToInt(stop -> stop.length() - 1).max().orElse(0);
    }

    /** Drops the certain part of the held text, and returns the characters of this part that no earlier call returned. */
    private String drop(int length) {
        int old = Math.min(given, length);
        String certain = held.substring(old, length);
        held.delete(0, length);
        given -= old;
        return certain;
    }

    /**
     * Adds text, and returns the certain part: the text before the first stop sequence, or before a possible beginning of a stop sequence.
     */
    String add(String text) {
        if (stops.isEmpty() || found) {
            return found ? "" : text;
        }
        held.append(text);
        int at = first(false);
        found = isHere(at, true);
        String certain = drop(at);
        if (found) {
            held.setLength(0);
        }
        return certain;
    }

    /** Returns whether the text has a stop sequence, and ends before it. */
    boolean isFound() {
        return found;
    }

    /**
     * Ends the text, and returns the held text before a stop sequence. Without a stop sequence, returns all held text. If a stop sequence
     * was found before, returns no text.
     */
    String rest() {
        if (found) {
            return "";
        }
        int at = first(true);
        found |= at < held.length();
        String rest = drop(at);
        held.setLength(0);
        given = 0;
        return rest;
    }

    /**
     * Returns the index of the first stop sequence, or of a possible beginning of one if {@code whole} is false. Returns the end of the
     * text if there is none.
     */
    private int first(boolean whole) {
        int at = 0;
        while (at < held.length() && !isHere(at, whole)) {
            at++;
        }
        return at;
    }

    /**
     * Returns whether a stop sequence begins at {@code at}. If {@code whole} is false, a possible beginning of one at the end of the text
     * counts, too.
     */
    private boolean isHere(int at, boolean whole) {
        int length = held.length() - at;
        for (String stop : stops) {
            boolean isOld = at + stop.length() <= given;
            if (!isOld && (!whole || stop.length() <= length) && agree(stop, at, Math.min(stop.length(), length))) {
                return true;
            }
        }
        return false;
    }

    private boolean agree(String stop, int at, int length) {
        for (int i = 0; i < length; i++) {
            if (held.charAt(at + i) != stop.charAt(i)) {
                return false;
            }
        }
        return true;
    }
}

package io.multihead.decoder;

import java.util.List;

/**
 * Finds stop sequences in a text that grows, and holds back a possible beginning of one. The text ends where the first of them begins: of
 * two that overlap, the one that begins first. So a stop sequence that is complete waits while one that began before it may still become complete, and
 * the result depends on the whole text and not on its parts. A text may go on that a call before has given in part: a stop sequence that began there
 * is found where it becomes complete. For one text.
 */
final class StopSequences {
    private final List<String> stops;
    private final StringBuilder held = new StringBuilder();
    private boolean found;
    /** Characters at the start of the held text that were given before. */
    private int given;

    /**
     * Begins with a text, or goes on with one.
     *
     * @param before the end of the text that was given, as long as {@link #longestBegin} or longer where there is so much; whole stop sequences in it
     *     do not count
     */
    StopSequences(List<String> stops, String before) {
        this.stops = stops;
        held.append(before);
        given = before.length();
        drop(first(false));
    }

    /** Returns how many characters of one of these texts can stand before its last one. */
    static int longestBegin(List<String> stops) {
        return stops.stream().mapToInt(stop -> stop.length() - 1).max().orElse(0);
    }

    /** Drops the certain part of the held text, and returns the characters of it that were not given before. */
    private String drop(int length) {
        int old = Math.min(given, length);
        String certain = held.substring(old, length);
        held.delete(0, length);
        given -= old;
        return certain;
    }

    /** Adds text, and returns its certain part: all before the first stop sequence, or before a possible beginning of one. */
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

    /** Ends the text; returns the text held back before a stop sequence, all of it if there is none, and nothing after one that was found. */
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

    /** Returns where the first stop sequence begins, or a possible beginning of one unless it must be whole; the end of the text if there is none. */
    private int first(boolean whole) {
        int at = 0;
        while (at < held.length() && !isHere(at, whole)) {
            at++;
        }
        return at;
    }

    /** Returns whether a stop sequence begins here, or as much of one as there is text unless it must be whole. */
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

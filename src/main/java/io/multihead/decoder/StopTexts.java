package io.multihead.decoder;

import java.util.List;

/**
 * Finds stop texts in a text that grows, and holds back what may be the beginning of one. The text ends where the first of them begins: of
 * two that overlap, the one that begins first. So a stop text that is complete waits while one that began before it may still become complete, and
 * what is found depends on the whole text and not on its parts. For one text.
 */
final class StopTexts {
    private final List<String> stops;
    private final StringBuilder held = new StringBuilder();
    private boolean found;

    StopTexts(List<String> stops) {
        this.stops = stops;
    }

    /** Adds text, and returns what is certain: all before the first stop text, or before what may be the beginning of one. */
    String add(String text) {
        if (stops.isEmpty() || found) {
            return found ? "" : text;
        }
        held.append(text);
        int at = first(false);
        found = isHere(at, true);
        String certain = held.substring(0, at);
        held.delete(0, found ? held.length() : at);
        return certain;
    }

    /** Returns whether the text has a stop text, and ends before it. */
    boolean isFound() {
        return found;
    }

    /** Ends the text; returns what was held back before a stop text, all of it if there is none, and nothing after one that was found. */
    String rest() {
        if (found) {
            return "";
        }
        int at = first(true);
        found |= at < held.length();
        String rest = held.substring(0, at);
        held.setLength(0);
        return rest;
    }

    /** Returns where the first stop text begins, or what may become one unless it must be whole; the end of the text if there is none. */
    private int first(boolean whole) {
        int at = 0;
        while (at < held.length() && !isHere(at, whole)) {
            at++;
        }
        return at;
    }

    /** Returns whether a stop text begins here, or as much of one as there is text unless it must be whole. */
    private boolean isHere(int at, boolean whole) {
        int length = held.length() - at;
        for (String stop : stops) {
            if ((!whole || stop.length() <= length) && agree(stop, at, Math.min(stop.length(), length))) {
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

package io.multihead.decoder;

import java.util.List;

/**
 * Finds stop texts in a text that grows, and holds back what may be the beginning of one. For one text.
 */
final class StopTexts {
    private final List<String> stops;
    private final StringBuilder held = new StringBuilder();
    private boolean found;

    StopTexts(List<String> stops) {
        this.stops = stops;
    }

    /** Adds text, and returns what is certain: all before a stop text, or before what may be the beginning of one. */
    String add(String text) {
        if (stops.isEmpty() || found) {
            return found ? "" : text;
        }
        held.append(text);
        int end = firstStop();
        found = end >= 0;
        if (!found) {
            end = held.length() - longestBegin();
        }
        String certain = held.substring(0, end);
        held.delete(0, found ? held.length() : end);
        return certain;
    }

    /** Returns whether a stop text was found. */
    boolean isFound() {
        return found;
    }

    /** Returns what was held back, at the end of a text. */
    String rest() {
        String rest = held.toString();
        held.setLength(0);
        return rest;
    }

    /** Returns where the first stop text begins, or -1. */
    private int firstStop() {
        int first = -1;
        for (String stop : stops) {
            int at = held.indexOf(stop);
            if (at >= 0 && (first < 0 || at < first)) {
                first = at;
            }
        }
        return first;
    }

    /** Returns the length of the longest end of the text with which a stop text begins. */
    private int longestBegin() {
        int longest = 0;
        for (String stop : stops) {
            for (int length = Math.min(stop.length() - 1, held.length()); length > longest; length--) {
                if (endsWithBegin(stop, length)) {
                    longest = length;
                }
            }
        }
        return longest;
    }

    private boolean endsWithBegin(String stop, int length) {
        int from = held.length() - length;
        for (int i = 0; i < length; i++) {
            if (held.charAt(from + i) != stop.charAt(i)) {
                return false;
            }
        }
        return true;
    }
}

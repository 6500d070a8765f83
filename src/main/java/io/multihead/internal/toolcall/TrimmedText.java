package io.multihead.internal.toolcall;

import java.util.function.Consumer;

/**
 * Passes on a text without the white space around marks. White space is removed after a thought or a call that comes first, and at the
 * end of a text with thoughts or calls. White space that may be at an end waits for later text. A text without marks does not change.
 */
final class TrimmedText {
    private final Consumer<String> to;
    private final StringBuilder space = new StringBuilder();
    private boolean begun;
    private boolean hasMarks;

    TrimmedText(Consumer<String> to) {
        this.to = to;
    }

    boolean isEmpty() {
        return !begun;
    }

    void add(String part) {
        int end = part.length();
        while (end > 0 && Character.isWhitespace(part.charAt(end - 1))) {
            end--;
        }
        if (end > 0) {
            String text = space + part.substring(0, end);
            to.accept(begun || !hasMarks ? text : text.stripLeading());
            begun = true;
            space.setLength(0);
        }
        space.append(part, end, part.length());
    }

    /** Records that a thought or a call comes here. */
    void mark() {
        hasMarks = true;
    }

    void end() {
        if (!hasMarks) {
            endSpace();
        }
    }

    /** Passes on waiting white space, because a part that is not text follows. */
    void endSpace() {
        if (!space.isEmpty() && (begun || !hasMarks)) {
            to.accept(space.toString());
            space.setLength(0);
        }
    }
}

package io.multihead.internal.toolcall;

import java.util.function.Consumer;

/** Passes a text on without the white space around it: that within it waits for what follows. */
final class TrimmedText {
    private final Consumer<String> to;
    private final StringBuilder space = new StringBuilder();
    private boolean begun;

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
            to.accept(begun ? text : text.stripLeading());
            begun = true;
            space.setLength(0);
        }
        if (begun) {
            space.append(part, end, part.length());
        }
    }

    /** Passes on white space that waits, as something else than text follows. */
    void endSpace() {
        if (!space.isEmpty()) {
            to.accept(space.toString());
            space.setLength(0);
        }
    }
}

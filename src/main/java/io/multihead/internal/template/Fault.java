package io.multihead.internal.template;

/** A fault at a place of a template that the thrower does not know; a caller adds the place. */
final class Fault extends RuntimeException {
    private static final long serialVersionUID = 1;

    Fault(String message) {
        super(message, null, false, false);
    }

    /** Returns the error for callers, with the line. */
    IllegalArgumentException at(int line) {
        return new IllegalArgumentException("line " + line + ": " + getMessage());
    }
}

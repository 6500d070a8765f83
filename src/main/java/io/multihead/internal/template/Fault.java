package io.multihead.internal.template;

/** What is wrong at a place of a template that the thrower does not know; whoever knows it says it. */
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

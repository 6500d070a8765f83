package io.multihead.internal.template;

/** An error in a template, thrown without its position. A caller adds the position. */
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

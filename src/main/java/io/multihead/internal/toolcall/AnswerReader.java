package io.multihead.internal.toolcall;

/**
 * Divides an answer that arrives in pieces; the result does not depend on the pieces. A reader is for one answer and one
 * thread.
 */
public interface AnswerReader {
    /** Takes the next piece. */
    void add(String piece);

    void end();
}

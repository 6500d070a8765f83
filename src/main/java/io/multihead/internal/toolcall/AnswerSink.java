package io.multihead.internal.toolcall;

/** Takes the parts of an answer in their order. */
public interface AnswerSink {
    /** Takes text for the user. */
    void text(String part);

    void reasoning(String part);

    /** Takes the next part of a call's arguments; the first part of a call may be empty. */
    void callPart(int index, String name, String arguments);

    /** Takes a complete call, whose arguments are all parts concatenated. */
    void call(int index, Call call);

    /** Takes text that began like a call but is not one. */
    void broken(String text, String problem);
}

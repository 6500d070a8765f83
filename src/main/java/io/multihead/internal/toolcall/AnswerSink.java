package io.multihead.internal.toolcall;

/** Takes the parts of an answer in their order. */
public interface AnswerSink {
    /** Takes text for the user. */
    void text(String part);

    void reasoning(String part);

    /** Takes more of a call's arguments; the first part of a call may be empty. */
    void callPart(int index, String name, String arguments);

    /** Takes a call that is complete, whose arguments are all parts together. */
    void call(int index, Call call);

    /** Takes text that began like a call and is none. */
    void broken(String text, String problem);
}

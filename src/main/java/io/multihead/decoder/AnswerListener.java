package io.multihead.decoder;

/**
 * Is told of the parts of an answer as an {@link AnswerParser} finds them. Parts of one kind that follow each other may come as one or as
 * several; together they do not depend on the pieces that the parser was given.
 */
public interface AnswerListener {
    /** Does nothing. */
    AnswerListener NONE = new AnswerListener() {};

    /**
     * Is told of text for the user.
     *
     * @param part the next characters
     */
    default void onText(String part) {}

    /**
     * Is told of what the model thinks before it answers.
     *
     * @param part the next characters, without the marks around a thought
     */
    default void onReasoning(String part) {}

    /**
     * Is told of a call that is being written.
     *
     * @param index of the call among those of the answer, from 0
     * @param id of the call, as the call has it when it is complete; empty where it is not known yet
     * @param name of the tool
     * @param arguments the next characters of the arguments; may be empty, with the first part
     */
    default void onCallPart(int index, String id, String name, String arguments) {}

    /**
     * Is told of a call that is complete.
     *
     * @param index of the call
     * @param call the call, whose arguments are those of all parts together
     */
    default void onCall(int index, ToolCall call) {}

    /**
     * Is told of what began like a call and is none: it is cut, or malformed. Parts of it may have come before.
     *
     * @param text what the model wrote, from the mark of the call on
     * @param problem why it is none
     */
    default void onBrokenCall(String text, String problem) {}
}

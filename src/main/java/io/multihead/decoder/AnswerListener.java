package io.multihead.decoder;

/**
 * Receives the parts of an answer as an {@link AnswerParser} finds them. Consecutive parts of one kind may be reported in one method call
 * or in several. Their concatenation does not depend on the pieces that the parser was given.
 */
public interface AnswerListener {
    /** Does nothing. */
    AnswerListener NONE = new AnswerListener() {};

    /**
     * Receives text for the user.
     *
     * @param part the next characters
     */
    default void onText(String part) {}

    /**
     * Receives a part of the model's thoughts before its answer.
     *
     * @param part the next characters, without the marks around a thought
     */
    default void onReasoning(String part) {}

    /**
     * Receives a part of a call.
     *
     * @param index the index of the call within the answer, from 0
     * @param id the id of the call, equal to the id of the complete call; empty while the id is unknown
     * @param name the name of the tool
     * @param arguments the next characters of the arguments; may be empty in the first part
     */
    default void onCallPart(int index, String id, String name, String arguments) {}

    /**
     * Receives a complete call.
     *
     * @param index the index of the call
     * @param call the call, whose arguments are all parts concatenated
     */
    default void onCall(int index, ToolCall call) {}

    /**
     * Receives an invalid call: text that began like a call and is truncated or malformed. Parts of the call may have been reported
     * already.
     *
     * @param text the model's text from the mark of the call on
     * @param problem the reason why the text is not a call
     */
    default void onBrokenCall(String text, String problem) {}
}

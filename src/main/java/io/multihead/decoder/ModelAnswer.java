package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * The parts of a model's answer, as {@link ToolCallFormat#parse} returns them. Immutable.
 *
 * @param reasoning the thoughts before the answer, without {@code <think>} and surrounding white space; empty for none
 * @param content the text for the user, without white space around it
 * @param toolCalls the calls of tools in the answer, in their order
 */
public record ModelAnswer(String reasoning, String content, List<ToolCall> toolCalls) {
    /** Checks that all parts are present, and copies the list. */
    public ModelAnswer {
        Checks.notNull(reasoning, "reasoning");
        Checks.notNull(content, "content");
        toolCalls = Checks.noNulls(toolCalls, "toolCalls");
    }

    /** {@return this answer as a message of the chat} */
    public ChatMessage message() {
        return ChatMessage.assistant(content, toolCalls).withReasoning(reasoning);
    }
}

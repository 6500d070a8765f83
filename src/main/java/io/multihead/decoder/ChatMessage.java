package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * One message of a chat. The texts of a message never become control tokens.
 *
 * @param role the writer of the message
 * @param content the text; for a tool, its result
 * @param toolCalls the calls in a message of the model
 * @param callId the id of the call that a tool answers; empty for none
 * @param toolName the name of the tool that answers; empty for none
 * @param reasoning the model's thoughts before its answer, if the content does not contain them; empty for none
 */
public record ChatMessage(
        Role role, String content, List<ToolCall> toolCalls, String callId, String toolName, String reasoning) {
    /** The writer of a message. */
    public enum Role {
        /** The system prompt. */
        SYSTEM,
        /** The user. */
        USER,
        /** The model. */
        ASSISTANT,
        /** A tool, which answers a call. */
        TOOL
    }

    /** Checks that nothing is missing, and that the parts fit the role. */
    public ChatMessage {
        Checks.notNull(role, "role");
        Checks.notNull(content, "content");
        toolCalls = Checks.noNulls(toolCalls, "toolCalls");
        Checks.notNull(callId, "callId");
        Checks.notNull(toolName, "toolName");
        Checks.notNull(reasoning, "reasoning");
        if (role != Role.ASSISTANT && !(toolCalls.isEmpty() && reasoning.isEmpty())) {
            throw Checks.fail("role", role + " with tool calls or reasoning", "expected ASSISTANT");
        }
        if (role != Role.TOOL && !(callId.isEmpty() && toolName.isEmpty())) {
            throw Checks.fail("role", role + " with the call of a tool that it answers", "expected TOOL");
        }
    }

    /**
     * Makes a message that has only a text.
     *
     * @param role the writer of the message
     * @param content the text
     */
    public ChatMessage(Role role, String content) {
        this(role, content, List.of(), "", "", "");
    }

    /**
     * {@return a system message}
     *
     * @param content the text
     */
    public static ChatMessage system(String content) {
        return new ChatMessage(Role.SYSTEM, content);
    }

    /**
     * {@return a message of the user}
     *
     * @param content the text
     */
    public static ChatMessage user(String content) {
        return new ChatMessage(Role.USER, content);
    }

    /**
     * {@return a message of the model}
     *
     * @param content the text
     */
    public static ChatMessage assistant(String content) {
        return new ChatMessage(Role.ASSISTANT, content);
    }

    /**
     * {@return a message of the model that calls tools}
     *
     * @param content the text before the calls; may be empty
     * @param toolCalls the calls
     */
    public static ChatMessage assistant(String content, List<ToolCall> toolCalls) {
        return new ChatMessage(Role.ASSISTANT, content, toolCalls, "", "", "");
    }

    /**
     * {@return the result of a tool}
     *
     * @param call the call that is answered
     * @param result the text
     */
    public static ChatMessage tool(ToolCall call, String result) {
        Checks.notNull(call, "call");
        return new ChatMessage(Role.TOOL, result, List.of(), call.id(), call.name(), "");
    }

    /**
     * {@return this message of the model with its thoughts, which some templates omit}
     *
     * @param newReasoning the thought, without the marks around it
     */
    public ChatMessage withReasoning(String newReasoning) {
        return new ChatMessage(role, content, toolCalls, callId, toolName, newReasoning);
    }
}

package io.multihead.decoder;

import io.multihead.decoder.ChatMessage.Role;
import java.util.List;

/** Makes chats with other tools, calls or results, which show whether a template writes these parts. */
final class OtherChats {
    private static final String OTHER = "_";

    private OtherChats() {}

    static List<ToolDefinition> tools(List<ToolDefinition> tools) {
        return tools.stream()
                .map(tool -> new ToolDefinition(tool.name() + OTHER, tool.description(), tool.parameters()))
                .toList();
    }

    static List<ChatMessage> calls(List<ChatMessage> messages) {
        return messages.stream()
                .map(each -> each.toolCalls().isEmpty()
                        ? each
                        : ChatMessage.assistant(each.content(), renamed(each.toolCalls()))
                                .withReasoning(each.reasoning()))
                .toList();
    }

    private static List<ToolCall> renamed(List<ToolCall> calls) {
        return calls.stream()
                .map(call -> new ToolCall(call.id(), call.name() + OTHER, call.arguments()))
                .toList();
    }

    static List<ChatMessage> results(List<ChatMessage> messages) {
        return messages.stream()
                .map(each -> each.role() != Role.TOOL
                        ? each
                        : new ChatMessage(
                                Role.TOOL, each.content() + OTHER, List.of(), each.callId(), each.toolName(), ""))
                .toList();
    }
}

package io.multihead.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ContentType;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatMessage.Role;
import io.multihead.decoder.ToolCall;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Converts langchain4j's messages to messages of a chat. Messages that chats do not have are refused with an error that names them. */
final class ChatMessages {
    private static final String ONE_TEXT = "expected one TEXT, as others, such as images, are not supported";
    /** Whether messages have contents that were added to core after version 1.0. */
    static final boolean HAVE_THINKING = hasMethod(AiMessage.class, "thinking");

    private static final boolean HAVE_IMAGES = hasMethod(AiMessage.class, "images");
    private static final boolean HAVE_RESULTS = hasMethod(ToolExecutionResultMessage.class, "hasSingleText");

    private ChatMessages() {}

    /** Returns the messages, with the thoughts of answers if {@code thinking}. */
    static List<ChatMessage> of(List<dev.langchain4j.data.message.ChatMessage> messages, boolean thinking) {
        return messages.stream().map(each -> of(each, thinking)).toList();
    }

    private static ChatMessage of(dev.langchain4j.data.message.ChatMessage message, boolean thinking) {
        return switch (message) {
            case SystemMessage system -> ChatMessage.system(system.text());
            case UserMessage user -> ChatMessage.user(text(user));
            case AiMessage answer -> answer(answer, thinking);
            case ToolExecutionResultMessage result ->
                new ChatMessage(
                        Role.TOOL, text(result), List.of(), orEmpty(result.id()), orEmpty(result.toolName()), "");
            default ->
                throw ChatParameters.unsupported(
                        "message", message.type(), "expected SYSTEM, USER, AI or TOOL_EXECUTION_RESULT");
        };
    }

    private static String text(UserMessage user) {
        ChatParameters.refuse(user.name(), "name of a USER message");
        if (!user.hasSingleText()) {
            List<ContentType> types =
                    user.contents().stream().map(Content::type).toList();
            throw ChatParameters.unsupported("contents of a USER message", types, ONE_TEXT);
        }
        return user.singleText();
    }

    private static String text(ToolExecutionResultMessage result) {
        if (HAVE_RESULTS && !result.hasSingleText()) {
            List<ContentType> types =
                    result.contents().stream().map(Content::type).toList();
            throw ChatParameters.unsupported("contents of a TOOL_EXECUTION_RESULT message", types, ONE_TEXT);
        }
        return result.text();
    }

    private static ChatMessage answer(AiMessage answer, boolean thinking) {
        if (HAVE_IMAGES) {
            ChatParameters.refuseSome(answer.images(), "images of an AI message");
        }
        List<ToolExecutionRequest> requests = answer.toolExecutionRequests();
        List<ToolCall> calls = requests == null
                ? List.of()
                : requests.stream().map(ChatMessages::call).toList();
        ChatMessage message = ChatMessage.assistant(orEmpty(answer.text()), calls);
        return thinking ? message.withReasoning(orEmpty(answer.thinking())) : message;
    }

    private static ToolCall call(ToolExecutionRequest request) {
        String arguments = orEmpty(request.arguments());
        return new ToolCall(orEmpty(request.id()), request.name(), arguments.isBlank() ? "{}" : arguments);
    }

    private static String orEmpty(@Nullable String text) {
        return text == null ? "" : text;
    }

    private static boolean hasMethod(Class<?> type, String name) {
        return Arrays.stream(type.getMethods())
                .anyMatch(method -> method.getName().equals(name));
    }
}

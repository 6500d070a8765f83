package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatPrompt;
import java.util.List;
import java.util.stream.Collectors;

/** The messages of a request. */
final class ChatFields {
    private ChatFields() {}

    static ChatPrompt prompt(Fields fields) {
        fields.require("messages");
        List<ChatMessage> messages = fields.objects("messages", ChatFields::message);
        if (messages.isEmpty()) {
            throw fields.wrong("messages", "is empty");
        }
        ChatPrompt prompt = ChatPrompt.of(messages);
        JsonNode variables = fields.find("chat_template_kwargs");
        if (variables != null) {
            Fields named = new Fields("chat_template_kwargs", variables);
            for (var variable : variables.properties()) {
                prompt = prompt.withVariable(variable.getKey(), value(named, variable.getKey(), variable.getValue()));
            }
        }
        return prompt;
    }

    private static Object value(Fields named, String name, JsonNode value) {
        if (value.isBoolean()) {
            return value.booleanValue();
        }
        if (!value.isTextual()) {
            throw named.wrong(name, "expected true, false or a string");
        }
        return value.textValue();
    }

    private static ChatMessage message(Fields message) {
        String role = message.text("role");
        return switch (role) {
            case "system", "developer" -> ChatMessage.system(content(message));
            case "user" -> ChatMessage.user(content(message));
            case "assistant" -> {
                message.without("refusal", "annotations");
                yield ChatMessage.assistant(content(message));
            }
            default ->
                throw message.wrong("role", role + " is not supported; expected system, developer, user or assistant");
        };
    }

    /** Returns a content that is a text, or a list of parts that are texts. */
    private static String content(Fields message) {
        JsonNode content = message.require("content");
        if (content.isTextual()) {
            return content.textValue();
        }
        return message
                .objects("content", part -> {
                    if (!part.text("type").equals("text")) {
                        throw part.wrong("type", "expected text");
                    }
                    return part.text("text");
                })
                .stream()
                .collect(Collectors.joining());
    }
}

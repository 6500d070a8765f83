package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatPrompt;
import io.multihead.decoder.ToolCall;
import io.multihead.decoder.ToolDefinition;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The prompt of a chat, and the tools that the answer may call.
 *
 * @param prompt messages and tools
 * @param callable the tools that the answer may call
 * @param required whether the answer must call a tool
 */
record ChatFields(ChatPrompt prompt, List<ToolDefinition> callable, boolean required) {
    static ChatFields of(Fields fields) {
        List<ToolDefinition> tools = fields.objects("tools", ChatFields::tool);
        if (!fields.flag("parallel_tool_calls", true)) {
            throw fields.wrong("parallel_tool_calls", "false is not supported: an answer may have several calls");
        }
        JsonNode choice = fields.find("tool_choice");
        if (tools.isEmpty() && choice != null && !choice.asText().equals("none")) {
            throw fields.wrong("tool_choice", choice + " without tools");
        }
        ChatPrompt prompt = messages(fields);
        if (choice != null && choice.isObject()) {
            return named(fields, prompt.withTools(tools), tools);
        }
        return switch (choice == null ? "auto" : choice.asText()) {
            case "none" -> new ChatFields(prompt, List.of(), false);
            case "auto" -> new ChatFields(prompt.withTools(tools), tools, false);
            case "required" -> new ChatFields(prompt.withTools(tools), tools, true);
            default -> throw fields.wrong("tool_choice", choice + "; expected none, auto, required or a function");
        };
    }

    private static ChatFields named(Fields fields, ChatPrompt prompt, List<ToolDefinition> tools) {
        String name = fields.object("tool_choice", choice -> function(choice, named -> named.text("name")), "");
        List<ToolDefinition> callable =
                tools.stream().filter(tool -> tool.name().equals(name)).toList();
        if (callable.isEmpty()) {
            throw fields.wrong("tool_choice.function.name", name + " is not among the tools");
        }
        return new ChatFields(prompt, callable, true);
    }

    private static ToolDefinition tool(Fields tool) {
        return function(tool, function -> {
            function.flag("strict", false); // a required call is always valid against its schema
            JsonNode parameters = function.find("parameters");
            if (parameters != null && !parameters.isObject()) {
                throw function.wrong("parameters", "expected an object");
            }
            return new ToolDefinition(
                    function.text("name"),
                    function.text("description", ""),
                    parameters == null ? "{\"type\": \"object\", \"properties\": {}}" : parameters.toString());
        });
    }

    private static <T> T function(Fields fields, Function<Fields, T> reader) {
        if (!fields.text("type").equals("function")) {
            throw fields.wrong("type", "expected function");
        }
        Fields function = new Fields(fields.path("function"), fields.require("function"));
        T value = reader.apply(function);
        function.end();
        return value;
    }

    private static ChatPrompt messages(Fields fields) {
        fields.require("messages");
        Map<String, String> names = new HashMap<>();
        List<ChatMessage> messages = fields.objects("messages", message -> message(message, names));
        if (messages.isEmpty()) {
            throw fields.wrong("messages", "is empty");
        }
        ChatPrompt prompt = ChatPrompt.of(messages);
        JsonNode variables = fields.find("chat_template_kwargs");
        if (variables != null) {
            Fields named = new Fields("chat_template_kwargs", variables);
            for (var variable : variables.properties()) {
                prompt = named(named, prompt, variable.getKey(), variable.getValue());
            }
        }
        return prompt;
    }

    private static ChatPrompt named(Fields named, ChatPrompt prompt, String name, JsonNode value) {
        Object variable = value(named, name, value);
        try {
            return prompt.withVariable(name, variable);
        } catch (IllegalArgumentException refused) {
            throw named.wrong(name, String.valueOf(refused.getMessage()));
        }
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

    /**
     * Reads a message.
     *
     * @param names the names of called tools by the ids of the calls
     */
    private static ChatMessage message(Fields message, Map<String, String> names) {
        String role = message.text("role");
        return switch (role) {
            case "system", "developer" -> ChatMessage.system(content(message));
            case "user" -> ChatMessage.user(content(message));
            case "assistant" -> {
                message.without("refusal", "annotations");
                List<ToolCall> calls = message.objects("tool_calls", ChatFields::call);
                calls.forEach(call -> names.put(call.id(), call.name()));
                String content = calls.isEmpty() || message.find("content") != null ? content(message) : "";
                yield ChatMessage.assistant(content, calls).withReasoning(message.text("reasoning_content", ""));
            }
            case "tool" -> {
                String id = message.text("tool_call_id");
                if (!names.containsKey(id)) {
                    throw message.wrong("tool_call_id", id + " is no call of an earlier message");
                }
                yield ChatMessage.tool(new ToolCall(id, names.getOrDefault(id, ""), "{}"), content(message));
            }
            default ->
                throw message.wrong(
                        "role", role + " is not supported; expected system, developer, user, assistant or tool");
        };
    }

    private static ToolCall call(Fields call) {
        call.without("index");
        String id = call.text("id");
        return function(call, function -> {
            String name = function.text("name");
            String arguments = function.text("arguments");
            try {
                return new ToolCall(id, name, arguments);
            } catch (IllegalArgumentException malformed) {
                throw function.wrong("arguments", String.valueOf(malformed.getMessage()));
            }
        });
    }

    /** Returns the content of a message, which is a text or a list of texts. */
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

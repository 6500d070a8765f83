package io.multihead.it.templates;

import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatPrompt;
import io.multihead.decoder.ToolCall;
import io.multihead.decoder.ToolDefinition;
import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Chats for tests of templates, as {@link ChatPrompt} and as the variables of transformers. */
final class Chats {
    private static final ToolCall CALL = new ToolCall(
            "call00001",
            "get_weather",
            "{\"city\": \"Z\u00fcrich \\\"x\\\"\", \"days\": 3, \"f\": 1.5, \"b\": true, \"n\": null, \"l\": [1, \"a\"]}");
    private static final ToolDefinition TOOL = new ToolDefinition(
            "get_weather",
            "Weather of a city.",
            "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\", \"description\": \"Name.\"}, "
                    + "\"unit\": {\"type\": \"string\", \"enum\": [\"C\", \"F\"]}}, \"required\": [\"city\"]}");

    private Chats() {}

    private static ChatMessage system(String content) {
        return ChatMessage.system(content);
    }

    private static ChatMessage user(String content) {
        return ChatMessage.user(content);
    }

    private static ChatMessage answer(String content) {
        return ChatMessage.assistant(content);
    }

    static Map<String, ChatPrompt> all() {
        Map<String, List<ChatMessage>> plain = new LinkedHashMap<>();
        plain.put("question", List.of(user("Name a bird.")));
        plain.put("system", List.of(system("Be brief."), user("Hi!"), answer("Hello."), user("  Name a bird.\n")));
        plain.put(
                "thoughts",
                List.of(
                        user("Hi!"),
                        answer("<think>\nA greeting.\n</think>\n\nHello."),
                        user("Name a bird."),
                        answer("<think>x</think>A robin."),
                        user("Why?")));
        plain.put("answer first", List.of(answer("Hello."), user("Hi!")));
        plain.put("two questions", List.of(user("Hi!"), user("There?")));
        plain.put("later system", List.of(user("Hi!"), answer("Hello."), system("Be brief."), user("Go on.")));
        plain.put("ends with an answer", List.of(user("Hi!"), answer("Hello.")));
        plain.put("system alone", List.of(system("Be brief.")));
        plain.put("two systems", List.of(system("a"), system("b"), user("c")));
        plain.put("empty answer", List.of(user("Hi!"), answer(""), user("Again")));
        plain.put("reasoning", List.of(user("Hi"), answer("Hello").withReasoning("Greet."), user("Again")));
        plain.put(
                "response of a user",
                List.of(user("Hi"), answer("<think>\na\n</think>\n\nb"), user("<tool_response>\n1\n</tool_response>")));
        ChatMessage asks = ChatMessage.assistant("", List.of(CALL));
        ChatMessage says = ChatMessage.assistant("Let me see.", List.of(CALL));
        ChatMessage both = ChatMessage.assistant("", List.of(CALL, CALL));
        ChatMessage result = ChatMessage.tool(CALL, "{\"t\": 21}");
        plain.put("call", List.of(user("Weather?"), asks, result));
        plain.put("two calls", List.of(user("Weather?"), both, result, result));
        plain.put(
                "call with text",
                List.of(system("Be brief."), user("Weather?"), says, result, answer("21 degrees."), user("Thanks")));
        Map<String, ChatPrompt> all = new LinkedHashMap<>();
        plain.forEach((name, messages) -> {
            ChatPrompt chat = ChatPrompt.of(messages)
                    .withVariable("bos_token", PromptText.template("<s>"))
                    .withVariable("eos_token", PromptText.template("</s>"));
            all.put(name, chat);
            if (!name.equals("thoughts")) {
                all.put(name + ", tools", chat.withTools(List.of(TOOL)));
            }
        });
        for (boolean thinks : new boolean[] {false, true}) {
            all.put(
                    "thinking " + thinks,
                    all.get("question").withVariable("enable_thinking", thinks).withVariable("thinking", thinks));
        }
        return all;
    }

    /** The forms in which templates may require calls and content. */
    static final List<String> FORMS = List.of("object", "json", "none", "parts");

    /** Returns the variables of a chat in a form. */
    static Map<String, Object> variables(ChatPrompt chat, String form) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("documents", null);
        all.put("tools", null);
        chat.variables()
                .forEach((name, value) -> all.put(name, value instanceof PromptText text ? text.toString() : value));
        List<Object> messages = new ArrayList<>();
        for (ChatMessage message : chat.messages()) {
            messages.add(message(message, form));
        }
        all.put("messages", messages);
        all.put("add_generation_prompt", true);
        if (!chat.tools().isEmpty()) {
            all.put("tools", chat.tools().stream().map(Chats::tool).toList());
        }
        return all;
    }

    private static Map<String, Object> message(ChatMessage message, String form) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("role", message.role().name().toLowerCase(java.util.Locale.ROOT));
        boolean none = form.equals("none")
                && message.content().isEmpty()
                && !message.toolCalls().isEmpty();
        Object parts = List.of(Map.of("type", "text", "text", message.content()));
        all.put("content", none ? null : form.equals("parts") ? parts : message.content());
        if (!message.reasoning().isEmpty()) {
            all.put("reasoning_content", message.reasoning());
        }
        if (message.role() == ChatMessage.Role.TOOL) {
            all.put("tool_call_id", message.callId());
            all.put("name", message.toolName());
        }
        if (!message.toolCalls().isEmpty()) {
            all.put(
                    "tool_calls",
                    message.toolCalls().stream().map(call -> call(call, form)).toList());
        }
        return all;
    }

    private static Map<String, Object> call(ToolCall call, String form) {
        boolean object = form.equals("object") || form.equals("parts");
        Map<String, Object> function = new LinkedHashMap<>();
        function.put("name", call.name());
        function.put("arguments", object ? CompareTemplates.json(call.arguments()) : call.arguments());
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("id", call.id());
        all.put("type", "function");
        all.put("function", function);
        return all;
    }

    private static Map<String, Object> tool(ToolDefinition tool) {
        Map<String, Object> function = new LinkedHashMap<>();
        function.put("name", tool.name());
        function.put("description", tool.description());
        function.put("parameters", CompareTemplates.json(tool.parameters()));
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("type", "function");
        all.put("function", function);
        return all;
    }
}

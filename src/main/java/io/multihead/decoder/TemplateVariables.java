package io.multihead.decoder;

import io.multihead.internal.base.Json;
import io.multihead.internal.template.Template;
import io.multihead.text.PromptText;
import io.multihead.text.SpecialIds;
import io.multihead.text.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Converts a chat to the variables of a template, with the names that transformers gives them. Templates expect calls in different forms
 * ({@link Form}).
 */
final class TemplateVariables {
    /** The form in which a template gets messages with calls. The first form that the template renders with all calls is used. */
    enum Form {
        /** Arguments are an object, and content is a text. */
        OBJECT,
        /** Arguments are JSON in a text. */
        JSON,
        /** Arguments are JSON in a text, and empty content is null. */
        JSON_WITHOUT_CONTENT,
        /** Arguments are an object, and content is a list with one part. */
        PARTS
    }

    private TemplateVariables() {}

    static Map<String, @Nullable Object> of(ChatPrompt prompt, Form form) {
        Map<String, @Nullable Object> all = new LinkedHashMap<>();
        // as in transformers, where these variables are None and not undefined
        all.put("documents", null);
        all.put("tools", null);
        all.putAll(prompt.variables());
        all.put(
                "messages",
                prompt.messages().stream().map(each -> of(each, form)).toList());
        all.put("add_generation_prompt", true);
        if (!prompt.tools().isEmpty()) {
            all.put("tools", prompt.tools().stream().map(TemplateVariables::of).toList());
        }
        return all;
    }

    /** Returns the names of a model's special tokens. */
    static Map<String, Object> tokens(Tokenizer tokenizer) {
        SpecialIds special = tokenizer.specialIds();
        Map<String, Object> tokens = new LinkedHashMap<>();
        put(tokens, "bos_token", special.begin(), tokenizer);
        put(tokens, "eos_token", special.end(), tokenizer);
        put(tokens, "unk_token", special.unknown(), tokenizer);
        put(tokens, "pad_token", special.padding(), tokenizer);
        return tokens;
    }

    private static void put(Map<String, Object> to, String name, int id, Tokenizer tokenizer) {
        if (id != SpecialIds.NONE) {
            to.put(name, PromptText.template(tokenizer.token(id)));
        }
    }

    private static Map<String, @Nullable Object> of(ChatMessage message, Form form) {
        Map<String, @Nullable Object> all = new LinkedHashMap<>();
        all.put("role", PromptText.template(message.role().name().toLowerCase(Locale.ROOT)));
        boolean none = form == Form.JSON_WITHOUT_CONTENT
                && !message.toolCalls().isEmpty()
                && message.content().isEmpty();
        all.put("content", none ? null : content(message.content(), form));
        put(all, "reasoning_content", message.reasoning());
        put(all, "tool_call_id", message.callId());
        put(all, "name", message.toolName());
        if (!message.toolCalls().isEmpty()) {
            all.put(
                    "tool_calls",
                    message.toolCalls().stream().map(each -> of(each, form)).toList());
        }
        return all;
    }

    private static Object content(String content, Form form) {
        Map<String, @Nullable Object> part = object("type", PromptText.template("text"), "text", content);
        return form == Form.PARTS ? Template.elements(List.of(part)) : content;
    }

    private static void put(Map<String, @Nullable Object> to, String name, String value) {
        if (!value.isEmpty()) {
            to.put(name, value);
        }
    }

    private static Map<String, @Nullable Object> of(ToolCall call, Form form) {
        Object arguments =
                form == Form.OBJECT || form == Form.PARTS ? json("arguments", call.arguments()) : call.arguments();
        Map<String, @Nullable Object> all = new LinkedHashMap<>();
        put(all, "id", call.id());
        all.put("type", PromptText.template("function"));
        all.put("function", object("name", call.name(), "arguments", arguments));
        return all;
    }

    private static Map<String, @Nullable Object> of(ToolDefinition tool) {
        Map<String, @Nullable Object> function = object("name", tool.name());
        put(function, "description", tool.description());
        function.put("parameters", json("parameters", tool.parameters()));
        return object("type", PromptText.template("function"), "function", function);
    }

    private static Object json(String name, String text) {
        return Json.object(name, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns an object from alternating names and values. */
    private static Map<String, @Nullable Object> object(Object... members) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        for (int i = 0; i < members.length; i += 2) {
            object.put((String) members[i], members[i + 1]);
        }
        return object;
    }
}

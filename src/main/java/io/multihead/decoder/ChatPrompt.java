package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.template.Template;
import java.time.LocalDateTime;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A chat that the model continues, as a {@link ChatTemplate} takes it. Immutable.
 *
 * @param messages the messages in their order, at least one
 * @param tools the tools that the model may call
 * @param variables the variables of the template by name, such as {@code enable_thinking}. Values are strings, {@link
 *     io.multihead.text.PromptText}, booleans, numbers, and lists and maps of these
 * @param time the time for the template; if it is absent, the template gets the time of the system's clock and time zone when the prompt is
 *     rendered
 */
public record ChatPrompt(
        List<ChatMessage> messages,
        List<ToolDefinition> tools,
        Map<String, Object> variables,
        Optional<LocalDateTime> time) {
    private static final Set<String> RESERVED = Set.of("messages", "tools", "add_generation_prompt");

    /** Checks that there is a message, and that variables have types that templates support. */
    public ChatPrompt {
        messages = Checks.noNulls(messages, "messages");
        tools = Checks.noNulls(tools, "tools");
        Checks.notNull(time, "time");
        variables = Collections.unmodifiableMap(new LinkedHashMap<>(Checks.notNull(variables, "variables")));
        if (messages.isEmpty()) {
            throw Checks.fail("messages", "none", "expected at least one");
        }
        variables.forEach(ChatPrompt::requireVariable);
    }

    /** Checks the name and the value of a variable. */
    static void requireVariable(String name, Object value) {
        if (RESERVED.contains(Checks.notNull(name, "name"))) {
            throw Checks.fail("variables", name, "expected other names than " + RESERVED);
        }
        Checks.notNull(value, "variables." + name);
        Checks.in("variables." + name, () -> {
            Template.requireValue(value);
            return name;
        });
    }

    /**
     * {@return a chat with only messages}
     *
     * @param messages the messages in their order, at least one
     */
    public static ChatPrompt of(List<ChatMessage> messages) {
        return new ChatPrompt(messages, List.of(), Map.of(), Optional.empty());
    }

    /**
     * {@return this chat with tools}
     *
     * @param newTools the tools that the model may call
     */
    public ChatPrompt withTools(List<ToolDefinition> newTools) {
        return new ChatPrompt(messages, newTools, variables, time);
    }

    /**
     * {@return this chat with a variable of the template}
     *
     * @param name the name of the variable, such as {@code enable_thinking}
     * @param value a string, a {@link io.multihead.text.PromptText}, a boolean, a number, or a list or map of these
     * @throws IllegalArgumentException if the value has another type, or the name is {@code messages} or {@code tools}
     */
    public ChatPrompt withVariable(String name, Object value) {
        Map<String, Object> all = new LinkedHashMap<>(variables);
        all.put(Checks.notNull(name, "name"), value);
        return new ChatPrompt(messages, tools, all, time);
    }

    /**
     * {@return this chat with a time for the template}
     *
     * @param newTime the time
     */
    public ChatPrompt withTime(LocalDateTime newTime) {
        return new ChatPrompt(messages, tools, variables, Optional.of(Checks.notNull(newTime, "newTime")));
    }

    /** Returns this chat with default values of variables. A variable that this chat already has keeps its value. */
    ChatPrompt withDefaults(Map<String, Object> defaults) {
        Map<String, Object> all = new LinkedHashMap<>(defaults);
        all.putAll(variables);
        return new ChatPrompt(messages, tools, all, time);
    }

    ChatPrompt withMessages(List<ChatMessage> newMessages) {
        return new ChatPrompt(newMessages, tools, variables, time);
    }
}

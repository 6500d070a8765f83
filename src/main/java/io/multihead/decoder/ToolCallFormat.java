package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.text.PromptText;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** How a family of models writes calls of tools in an answer. */
public enum ToolCallFormat {
    /** {@code <tool_call>{"name": ..., "arguments": {...}}</tool_call>}: Hermes, Qwen 2.5 and 3, Granite 4. */
    HERMES("<tool_call>\\s*\\{\"name\": \"NAME\", \"arguments\": \\{.*}}\\s*</tool_call>"),
    /** <code>{"name": ..., "parameters": {...}}</code> and nothing else, or several with semicolons between: Llama 3.1 to 3.3. */
    LLAMA_3("\\{\"name\": \"NAME\", \"parameters\": \\{.*}}"),
    /** A list of <code>{"name": ..., "arguments": {...}}</code>, after the control token {@code [TOOL_CALLS]}: Mistral. */
    MISTRAL("\\[TOOL_CALLS] ?\\[\\{\"name\": ?\"NAME\", ?\"arguments\": ?\\{.*}.*}]");

    private static final String NAME = "probed_name";
    private static final String CALL = "<tool_call>";
    private static final String CALL_END = "</tool_call>";
    private static final String THINK = "<think>";
    private static final String THINK_END = "</think>";
    private static final String PYTHON_TAG = "<|python_tag|>";
    private static final String TOOL_CALLS = "[TOOL_CALLS]";

    private final Pattern written;

    ToolCallFormat(String written) {
        this.written = Pattern.compile(written.replace("NAME", "probed_name"), Pattern.DOTALL);
    }

    /**
     * Finds the format of a template's models, by a chat with a call that the template writes.
     *
     * @param template of the model's file
     * @return the format, or empty where the template writes no calls, or others
     */
    public static Optional<ToolCallFormat> of(ChatTemplate template) {
        ToolCall call = new ToolCall("callprobe", NAME, "{\"key\": \"value\"}");
        ChatPrompt chat = ChatPrompt.of(List.of(
                ChatMessage.user("Question"),
                ChatMessage.assistant("", List.of(call)),
                ChatMessage.tool(call, "Result")));
        String text;
        try {
            // templates put these before texts, and know them from their models
            PromptText token = PromptText.template("<token>");
            ChatPrompt named = chat.withDefaults(
                    Map.of("bos_token", token, "eos_token", token, "unk_token", token, "pad_token", token));
            text = Checks.notNull(template, "template").render(named).toString();
        } catch (IllegalArgumentException refused) {
            return Optional.empty();
        }
        for (ToolCallFormat format : values()) {
            if (format.written.matcher(text).find()) {
                return Optional.of(format);
            }
        }
        return Optional.empty();
    }

    /**
     * Divides an answer into what was thought, the text, and calls of tools.
     *
     * @param text the whole answer, as {@link GeneratedText#text()} has it
     * @return its parts
     * @throws IllegalArgumentException if a call begins and is none: it is cut, or no JSON with a name and arguments. An answer in
     *     {@link #LLAMA_3}, and one in {@link #MISTRAL} without its control token, is content then, as nothing else marks its calls
     */
    public ModelAnswer parse(String text) {
        String answer = Checks.notNull(text, "text");
        String reasoning = "";
        int end = answer.indexOf(THINK_END);
        if (end >= 0) {
            reasoning = answer.substring(0, end).strip();
            reasoning = reasoning.startsWith(THINK)
                    ? reasoning.substring(THINK.length()).strip()
                    : reasoning;
            answer = answer.substring(end + THINK_END.length());
        } else if (answer.stripLeading().startsWith(THINK)) { // the answer ended in the thought
            reasoning = answer.strip().substring(THINK.length()).strip();
            answer = "";
        }
        List<ToolCall> calls = new ArrayList<>();
        String content =
                switch (this) {
                    case HERMES -> hermes(answer, calls);
                    case LLAMA_3 -> llama(answer.strip(), calls);
                    case MISTRAL -> mistral(answer.strip(), calls);
                };
        return new ModelAnswer(reasoning, content.strip(), calls);
    }

    private static String hermes(String answer, List<ToolCall> to) {
        StringBuilder content = new StringBuilder();
        int from = 0;
        for (int at = answer.indexOf(CALL); at >= 0; at = answer.indexOf(CALL, from)) {
            int end = answer.indexOf(CALL_END, at);
            if (end < 0) {
                throw Checks.fail("tool call", shortened(answer.substring(at)), "expected " + CALL_END + " after it");
            }
            content.append(answer, from, at);
            to.add(call(object(answer.substring(at + CALL.length(), end)), "arguments"));
            from = end + CALL_END.length();
        }
        return content.append(answer, from, answer.length()).toString();
    }

    private static String llama(String answer, List<ToolCall> to) {
        String calls = answer.startsWith(PYTHON_TAG)
                ? answer.substring(PYTHON_TAG.length()).strip()
                : answer;
        try {
            while (calls.startsWith("{")) {
                int end = objectEnd(calls);
                to.add(call(object(calls.substring(0, end)), "parameters"));
                calls = calls.substring(end).strip();
                calls = calls.startsWith(";") ? calls.substring(1).strip() : calls;
            }
        } catch (IllegalArgumentException none) {
            calls = answer;
        }
        if (!calls.isEmpty()) {
            to.clear();
            return answer;
        }
        return "";
    }

    /** Returns where the object at the begin of a text ends; its length where it does not. */
    private static int objectEnd(String text) {
        int depth = 0;
        boolean quoted = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quoted) {
                i += c == '\\' ? 1 : 0;
                quoted = c != '"';
            } else {
                quoted = c == '"';
                depth += c == '{' ? 1 : c == '}' ? -1 : 0;
                if (depth == 0) {
                    return i + 1;
                }
            }
        }
        return text.length();
    }

    private static String mistral(String answer, List<ToolCall> to) {
        int mark = answer.indexOf(TOOL_CALLS);
        String list =
                mark < 0 ? answer : answer.substring(mark + TOOL_CALLS.length()).strip();
        try {
            for (Object element : Json.array("tool call", list.getBytes(StandardCharsets.UTF_8))) {
                to.add(call(JsonObject.of("tool call", element), "arguments"));
            }
        } catch (IllegalArgumentException none) {
            if (mark >= 0) {
                throw none;
            }
            to.clear();
            return answer;
        }
        return to.isEmpty() ? answer : answer.substring(0, Math.max(mark, 0));
    }

    private static JsonObject object(String json) {
        String text = json.strip();
        try {
            return new JsonObject("tool call", Json.object("tool call", text.getBytes(StandardCharsets.UTF_8)));
        } catch (IllegalArgumentException none) {
            throw new IllegalArgumentException(
                    Checks.fail("tool call", shortened(text), "expected a JSON object")
                            .getMessage(),
                    none);
        }
    }

    private static ToolCall call(JsonObject call, String arguments) {
        String id = call.get("id") instanceof String given ? given : "";
        String json = call.get(arguments) instanceof String text
                ? text
                : JsonWriter.write("arguments", members(call.object(arguments)));
        return new ToolCall(id, call.text("name"), json);
    }

    private static Map<String, @Nullable Object> members(JsonObject object) {
        return object.members();
    }

    private static String shortened(String text) {
        return text.length() > 100 ? text.substring(0, 100) + " ..." : text;
    }
}

package io.multihead.it.templates;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatPrompt;
import io.multihead.decoder.ChatTemplate;
import io.multihead.decoder.ToolCallFormat;
import io.multihead.text.PromptText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Compares renderings of published chat templates with renderings of another program, which is Jinja if it is
 * installed, as in transformers, and otherwise a package of npm. Each rendering must equal a rendering of the other
 * program for a form of the same chat. A chat for which the template raises an exception is refused with the
 * exception's message. Other chats are refused only if the other program fails or omits text.
 */
final class CompareTemplates {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final LocalDateTime TIME = LocalDateTime.of(2026, 3, 5, 14, 7, 9);
    /** The minimum number of templates that write at least one chat like Jinja. */
    private static final int LEAST = 96;
    /** The minimum number for npm's renderer, which fails for one template. */
    private static final int LEAST_OF_NPM = 95;
    /** The minimum number of formats of calls, including no format. */
    private static final int LEAST_FORMATS = 8;

    private final Path folder;
    private final Map<String, ChatPrompt> chats = Chats.all();
    private final List<String> wrong = new ArrayList<>();
    private final Set<String> written = new TreeSet<>();
    private int same;
    private int refused;
    private int leftOut;
    private int unknown;
    /** Whether the other program has all features of Jinja. */
    private boolean strict;

    private CompareTemplates(Path folder) {
        this.folder = folder;
    }

    static Object json(String text) {
        try {
            return JSON.readValue(text, Object.class);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e);
        }
    }

    public static void main(String[] arguments) throws IOException {
        CompareTemplates compare = new CompareTemplates(Path.of(arguments[0]));
        if (Files.exists(compare.folder.resolve("npm.json"))) {
            compare.run();
        } else {
            compare.writeChats();
        }
    }

    private void writeChats() throws IOException {
        Map<String, Object> all = new LinkedHashMap<>();
        chats.forEach(
                (name, chat) -> Chats.FORMS.forEach(form -> all.put(name + "/" + form, Chats.variables(chat, form))));
        JSON.writeValue(folder.resolve("chats.json").toFile(), all);
    }

    private void run() throws IOException {
        strict = Files.exists(folder.resolve("jinja.json"));
        JsonNode jinja =
                JSON.readTree(folder.resolve(strict ? "jinja.json" : "npm.json").toFile());
        JsonNode templates = JSON.readTree(folder.resolve("templates.json").toFile());
        templates.properties().forEach(each -> {
            ChatTemplate template = ChatTemplate.of(each.getValue().asText());
            chats.forEach((chat, prompt) -> {
                compare(each.getKey(), chat, rendered(template, prompt), jinja.get(each.getKey()));
                compareMarks(each.getKey() + ", " + chat, template, prompt);
            });
        });
        System.out.printf(
                "%d templates, %d chats each, beside %s: %d texts the same, %d refused as there, %d refused as left out, %d that it cannot write; %d templates write chats%n",
                templates.size(),
                chats.size(),
                strict ? "Jinja" : "npm's renderer",
                same,
                refused,
                leftOut,
                unknown,
                written.size());
        wrong.forEach(System.out::println);
        Map<String, List<String>> formats = formats(templates);
        formats.forEach((format, names) -> System.out.println(format + ": " + String.join(", ", names)));
        if (formats.keySet().size() < LEAST_FORMATS) {
            throw new AssertionError("formats of calls: " + formats.keySet());
        }
        if (!wrong.isEmpty() || written.size() < (strict ? LEAST : LEAST_OF_NPM) || templates.size() != 97) {
            throw new AssertionError(wrong.size() + " differences; " + written.size() + " of " + templates.size()
                    + " templates write chats");
        }
    }

    /** Returns the templates that write calls or take tools, by the format of their calls. */
    private Map<String, List<String>> formats(JsonNode templates) {
        Map<String, List<String>> formats = new TreeMap<>();
        templates.properties().forEach(each -> {
            ChatTemplate template = ChatTemplate.of(each.getValue().asText());
            boolean takesTools =
                    rendered(template, chats.get("question, tools")).error.isEmpty();
            String none = takesTools ? "none, so tools are refused" : "";
            String format =
                    ToolCallFormat.of(template).map(ToolCallFormat::name).orElse(none);
            if (!format.isEmpty()) {
                formats.computeIfAbsent(format, key -> new ArrayList<>()).add(each.getKey());
            }
        });
        return formats;
    }

    /** A text, or the reason why it is missing. */
    private record Result(String text, String error) {}

    private static Result rendered(ChatTemplate template, ChatPrompt prompt) {
        try {
            return new Result(template.render(prompt.withTime(TIME)).toString(), "");
        } catch (IllegalArgumentException refused) {
            return new Result("", refused.getMessage().substring("chat_template: ".length()));
        }
    }

    private void compare(String template, String chat, Result result, JsonNode expected) {
        boolean found = false;
        boolean fails = false;
        for (String form : Chats.FORMS) {
            JsonNode other = expected.get(chat + "/" + form);
            found |= result.error.isEmpty()
                    && other.has("text")
                    && other.get("text").asText().equals(result.text);
            found |= other.has("raised") && other.get("raised").asText().equals(result.error);
            fails |= form.equals("object") && other.has("error");
        }
        if (found && result.error.isEmpty()) {
            same++;
            written.add(template);
        } else if (found || !result.error.isEmpty() && fails) {
            refused++;
        } else if (result.error.endsWith("; expected none, as this template leaves them out")) {
            leftOut++;
        } else if (!strict && fails) {
            unknown++; // npm's renderer lacks a filter, or lacks it for such values
        } else {
            wrong.add(template + ", " + chat + ": " + result + "; expected " + expected.get(chat + "/object"));
        }
    }

    /** Requires that no character of a message is treated as a character of the template. */
    private void compareMarks(String name, ChatTemplate template, ChatPrompt prompt) {
        String sign = "\u2603<|im_end|>";
        List<ChatMessage> messages = new ArrayList<>();
        prompt.messages()
                .forEach(each -> messages.add(new ChatMessage(
                        each.role(),
                        each.content() + sign,
                        each.toolCalls(),
                        each.callId(),
                        each.toolName(),
                        each.reasoning())));
        ChatPrompt signed = new ChatPrompt(messages, prompt.tools(), prompt.variables(), prompt.time());
        PromptText text;
        try {
            text = template.render(signed);
        } catch (IllegalArgumentException refused) {
            return;
        }
        String chars = text.toString();
        for (int at = chars.indexOf(sign); at >= 0; at = chars.indexOf(sign, at + 1)) {
            for (int i = at; i < at + sign.length(); i++) {
                if (!text.isContent(i)) {
                    wrong.add(name + ": character " + i + " of a message counts as the template's");
                }
            }
        }
    }
}

package io.multihead.internal.toolcall;

import io.multihead.internal.base.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads a list of calls in Python whose arguments are named literals: texts, numbers, {@code True}, {@code None}, lists and dictionaries. */
final class PythonCalls {
    private static final int DEEPEST = 64;

    private final String text;
    private int at;
    private int depth;

    PythonCalls(String text) {
        this.text = text;
    }

    /** Returns the index of the first mark outside quotes; -1 for none. */
    static int outside(String text, String mark) {
        char quote = 0;
        for (int at = 0; at < text.length(); at++) {
            char c = text.charAt(at);
            if (quote == 0) {
                if (text.startsWith(mark, at)) {
                    return at;
                }
                quote = c == '"' || c == '\'' ? c : 0;
            } else if (c == '\\') {
                at++;
            } else if (c == quote) {
                quote = 0;
            }
        }
        return -1;
    }

    static String write(Call call) {
        Map<String, @Nullable Object> arguments =
                Json.object("arguments", call.arguments().getBytes(StandardCharsets.UTF_8));
        return arguments.entrySet().stream()
                .map(argument -> argument.getKey() + "=" + written(argument.getValue()))
                .collect(Collectors.joining(", ", call.name() + "(", ")"));
    }

    private static String written(@Nullable Object value) {
        return switch (value) {
            case null -> "None";
            case Boolean truth -> truth ? "True" : "False";
            case String text -> JsonText.quoted(text);
            case List<?> list -> list.stream().map(PythonCalls::written).collect(Collectors.joining(", ", "[", "]"));
            case Map<?, ?> map ->
                map.entrySet().stream()
                        .map(entry ->
                                JsonText.quoted(String.valueOf(entry.getKey())) + ": " + written(entry.getValue()))
                        .collect(Collectors.joining(", ", "{", "}"));
            default -> String.valueOf(value);
        };
    }

    private IllegalArgumentException fail(String expected) {
        return new IllegalArgumentException(Reading.problem(text, "expected " + expected + " at character " + at));
    }

    private boolean take(String what) {
        at = JsonText.space(text, at);
        boolean taken = text.startsWith(what, at);
        at += taken ? what.length() : 0;
        return taken;
    }

    private void require(String what) {
        if (!take(what)) {
            throw fail(what);
        }
    }

    /** Returns the calls, one or more, with which the text ends. */
    List<Call> calls() {
        List<Call> calls = new ArrayList<>();
        require("[");
        do {
            String name = name();
            require("(");
            calls.add(new Call("", name, members("=", ")")));
        } while (take(","));
        require("]");
        if (JsonText.space(text, at) != text.length()) {
            throw fail("the end");
        }
        return calls;
    }

    private String name() {
        at = JsonText.space(text, at);
        int from = at;
        while (at < text.length()
                && (Character.isLetterOrDigit(text.charAt(at)) || "_-.".indexOf(text.charAt(at)) >= 0)) {
            at++;
        }
        if (at == from) {
            throw fail("a name");
        }
        return text.substring(from, at);
    }

    /** Reads members up to the end, as a JSON object: with names before {@code =}, or with texts before a colon. */
    private String members(String colon, String end) {
        return "{" + list(end, () -> member(colon)) + "}";
    }

    private String member(String colon) {
        String key = colon.equals("=") ? JsonText.quoted(name()) : value();
        if (!key.startsWith("\"")) {
            throw fail("a text as the key");
        }
        require(colon);
        return key + ":" + value();
    }

    /** Reads elements up to the end, before which a comma is allowed. */
    private String list(String end, Supplier<String> element) {
        List<String> elements = new ArrayList<>();
        while (!take(end)) {
            if (!elements.isEmpty()) {
                require(",");
                if (take(end)) {
                    break;
                }
            }
            elements.add(element.get());
        }
        return String.join(",", elements);
    }

    private String value() {
        depth++;
        if (depth > DEEPEST) {
            throw fail("at most " + DEEPEST + " levels");
        }
        at = JsonText.space(text, at);
        String value;
        if (take("{")) {
            value = members(":", "}");
        } else if (take("[")) {
            value = elements("]");
        } else if (take("(")) {
            value = elements(")");
        } else if (text.startsWith("'", at) || text.startsWith("\"", at)) {
            value = JsonText.quoted(quoted());
        } else {
            value = scalar();
        }
        depth--;
        return value;
    }

    private String elements(String end) {
        return "[" + list(end, this::value) + "]";
    }

    /** Reads a number or a constant, of Python or of JSON. */
    private String scalar() {
        int from = at;
        while (at < text.length() && ",)]}= \t\r\n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String json = at == from ? "\"" : JsonText.valueOf(text.substring(from, at));
        if (json.startsWith("\"")) {
            throw fail("a literal");
        }
        return json;
    }

    /** Reads a text between quotes. */
    private String quoted() {
        char quote = text.charAt(at);
        StringBuilder characters = new StringBuilder();
        at++;
        while (at < text.length() && text.charAt(at) != quote) {
            char c = text.charAt(at);
            at++;
            if (c == '\\' && at < text.length()) {
                escaped(characters);
            } else {
                characters.append(c);
            }
        }
        if (at == text.length()) {
            throw fail("the end of a text");
        }
        at++;
        return characters.toString();
    }

    /** Reads the character after a backslash; as in Python, a backslash before any other character represents itself. */
    private void escaped(StringBuilder to) {
        char c = text.charAt(at);
        at++;
        switch (c) {
            case 'n' -> to.append('\n');
            case 't' -> to.append('\t');
            case 'r' -> to.append('\r');
            case 'b' -> to.append('\b');
            case 'f' -> to.append('\f');
            case '\\', '\'', '"', '/' -> to.append(c);
            case 'u' -> to.append((char) hexadecimal(4));
            case 'x' -> to.append((char) hexadecimal(2));
            default -> to.append('\\').append(c);
        }
    }

    private int hexadecimal(int digits) {
        int end = Math.min(at + digits, text.length());
        String number = text.substring(at, end);
        if (!number.matches("[0-9a-fA-F]{" + digits + "}")) {
            throw fail(digits + " hexadecimal digits");
        }
        at = end;
        return Integer.parseInt(number, 16);
    }
}

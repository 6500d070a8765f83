package io.multihead.internal.toolcall;

import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The ends of JSON values in a text that may continue. */
final class JsonText {
    /** The end of a value that is not JSON. */
    static final int NONE = -2;

    private static final String ENDS = ",]} \t\r\n";

    private JsonText() {}

    /** Returns the index of the first character that is not white space. */
    static int space(String text, int from) {
        int at = from;
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at;
    }

    /** Returns the index after the value that begins at an index; negative if the text ends before. */
    static int valueEnd(String text, int from) {
        char first = text.charAt(from);
        if (first != '"' && first != '{' && first != '[') {
            int at = from;
            while (at < text.length() && ENDS.indexOf(text.charAt(at)) < 0) {
                at++;
            }
            return at < text.length() ? at : -1;
        }
        return nestedEnd(text, from, false);
    }

    /**
     * Returns the index after the string, list or object that begins at an index; -1 if the text ends before.
     *
     * @param strict whether to return {@link #NONE} at a character that JSON does not allow there: {@code <} or a backslash outside
     *     strings, or a control character within one. A mark is then skipped only within strings, so that among many values between marks
     *     at most two are read past the same character, and all together take linear time.
     */
    static int nestedEnd(String text, int from, boolean strict) {
        int depth = 0;
        boolean quoted = false;
        for (int i = from; i < text.length(); i++) {
            char c = text.charAt(i);
            if (strict && (quoted ? c < ' ' : c == '<' || c == '\\')) {
                return NONE;
            }
            if (quoted) {
                i += c == '\\' ? 1 : 0;
                quoted = c != '"';
            } else {
                quoted = c == '"';
                depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
            }
            if (depth == 0 && !quoted && i < text.length()) {
                return i + 1;
            }
        }
        return -1;
    }

    /** Returns the reason why a text is not a JSON object; empty if it is one. */
    static String problem(String json) {
        try {
            Json.object("tool call", json.getBytes(StandardCharsets.UTF_8));
            return "";
        } catch (IllegalArgumentException malformed) {
            return String.valueOf(malformed.getMessage());
        }
    }

    static String quoted(String text) {
        String object = JsonWriter.write("text", Map.of("", text));
        return object.substring("{\"\":".length(), object.length() - 1);
    }

    /** Returns a separate value as JSON: unchanged if it is JSON, a constant of Python that templates write, or a text. */
    static String valueOf(String text) {
        String value = text.strip();
        return switch (value) {
            case "True" -> "true";
            case "False" -> "false";
            case "None" -> "null";
            default -> isValue(value) ? value : quoted(text);
        };
    }

    /** Returns whether a text is exactly one JSON value. */
    static boolean isValue(String text) {
        return valueEnd(text + " ", 0) == text.length()
                && problem("{\"\":" + text + "}").isEmpty();
    }
}

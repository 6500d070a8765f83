package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;

/** Reads arguments in Gemma's notation, and converts them to JSON: objects, lists, escaped texts, and values that are JSON. */
final class GemmaValues {
    private static final int DEEPEST = 64;

    private final String text;
    /** The mark before and after each text. */
    private final String escape;

    private int at;
    private int depth;

    GemmaValues(String text, String escape, int from) {
        this.text = text;
        this.escape = escape;
        at = from;
    }

    private IllegalArgumentException fail(String expected) {
        return new IllegalArgumentException(Reading.problem(text, "expected " + expected + " at character " + at));
    }

    /** Returns the object at the end of the text. */
    String whole() {
        String object = object();
        if (JsonText.space(text, at) != text.length()) {
            throw fail("the end");
        }
        return object;
    }

    private boolean take(String what) {
        at = JsonText.space(text, at);
        boolean taken = text.startsWith(what, at);
        at += taken ? what.length() : 0;
        return taken;
    }

    private String value() {
        depth++;
        if (depth > DEEPEST) {
            throw fail("at most " + DEEPEST + " levels");
        }
        String value;
        if (take(escape)) {
            value = JsonText.quoted(escaped());
        } else if (text.startsWith("{", at)) {
            value = object();
        } else if (take("[")) {
            value = list();
        } else {
            value = JsonText.valueOf(until(",}]"));
        }
        depth--;
        return value;
    }

    private String list() {
        List<String> elements = new ArrayList<>();
        while (!take("]")) {
            if (!elements.isEmpty() && !take(",")) {
                throw fail("a comma");
            }
            elements.add(value());
        }
        return "[" + String.join(",", elements) + "]";
    }

    private String until(String ends) {
        int from = at;
        while (at < text.length() && ends.indexOf(text.charAt(at)) < 0) {
            at++;
        }
        if (at == from) {
            throw fail("a value or a name");
        }
        return text.substring(from, at).strip();
    }

    private String escaped() {
        int end = text.indexOf(escape, at);
        if (end < 0) {
            throw fail(escape);
        }
        String value = text.substring(at, end);
        at = end + escape.length();
        return value;
    }

    private String object() {
        if (!take("{")) {
            throw fail("an object");
        }
        List<String> members = new ArrayList<>();
        while (!take("}")) {
            if (!members.isEmpty() && !take(",")) {
                throw fail("a comma");
            }
            String key = take(escape) ? escaped() : until(":,}");
            if (!take(":")) {
                throw fail("a colon");
            }
            members.add(JsonText.quoted(key) + ":" + value());
        }
        return "{" + String.join(",", members) + "}";
    }
}

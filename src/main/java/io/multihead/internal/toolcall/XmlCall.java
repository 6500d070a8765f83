package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;

/**
 * A call as {@link XmlCalls} requires it, read from its beginning: a text ends at the first mark, and JSON is read as a whole, so that both may have
 * the marks behind a function and a call.
 */
final class XmlCall {
    static final String CALL = "<tool_call>";
    static final String CALL_END = "</tool_call>";
    static final String FUNCTION = "<function=";
    static final String FUNCTION_END = "</function>";
    static final String PARAMETER = "<parameter=";
    static final String VALUE_END = "</parameter>";

    /** More text is needed. */
    private static final int OPEN = 0;
    /** The text is written in another way. */
    private static final int OTHER = -1;

    private final String text;
    private final List<Tool> tools;
    private final List<String> members = new ArrayList<>();
    private final int end;
    private String name = "";
    private int at;

    XmlCall(String text, List<Tool> tools) {
        this.text = text;
        this.tools = tools;
        end = read();
    }

    /** Returns an argument as a member of an object in JSON. */
    static String member(String key, String value, boolean isText) {
        return JsonText.quoted(key) + ":" + (isText ? JsonText.quoted(value) : JsonText.valueOf(value));
    }

    static String object(List<String> members) {
        return "{" + String.join(",", members) + "}";
    }

    boolean isComplete() {
        return end > OPEN;
    }

    boolean isOpen() {
        return end == OPEN;
    }

    Reading reading() {
        return Reading.calls(List.of(new Reading.Part(new Call("", name, object(members)), end)), end);
    }

    private int read() {
        boolean isMarked = take(CALL);
        at = JsonText.space(text, at);
        if (!take(FUNCTION)) {
            return unless(FUNCTION);
        }
        int nameEnd = text.indexOf('>', at);
        if (nameEnd < 0) {
            return OPEN;
        }
        name = text.substring(at, nameEnd).strip();
        at = JsonText.space(text, nameEnd + 1);
        while (take(PARAMETER)) {
            if (!parameter()) {
                return OPEN;
            }
            at = JsonText.space(text, at);
        }
        if (!take(FUNCTION_END)) {
            return Math.max(unless(PARAMETER), unless(FUNCTION_END));
        }
        at = isMarked ? JsonText.space(text, at) : at;
        return !isMarked || take(CALL_END) ? at : unless(CALL_END);
    }

    private boolean take(String mark) {
        boolean taken = text.startsWith(mark, at);
        at += taken ? mark.length() : 0;
        return taken;
    }

    /** Returns whether more text is needed for a mark. */
    private int unless(String mark) {
        return mark.startsWith(text.substring(at)) ? OPEN : OTHER;
    }

    /** Reads a parameter behind its mark; returns whether the text has all of it. */
    private boolean parameter() {
        int keyEnd = text.indexOf('>', at);
        if (keyEnd < 0 || keyEnd + 1 == text.length()) {
            return false;
        }
        String key = text.substring(at, keyEnd).strip();
        at = keyEnd + 1;
        take("\n");
        boolean isText = Tool.isText(tools, name, key);
        int begin = JsonText.space(text, at);
        int from = at;
        if (!isText && begin < text.length() && "\"{[".indexOf(text.charAt(begin)) >= 0) {
            from = JsonText.valueEnd(text, begin);
        }
        int close = from < 0 ? -1 : text.indexOf(VALUE_END, from);
        if (close < 0) {
            return false;
        }
        String value = text.substring(at, close);
        value = value.endsWith("\n") ? value.substring(0, value.length() - 1) : value;
        members.add(member(key, value, isText));
        at = close + VALUE_END.length();
        return true;
    }
}

package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;

/**
 * A call in the form that {@link XmlCalls} requires, read from its beginning: a text ends at the first mark, and JSON is read as a whole,
 * so both may contain the marks at the end of a function and a call.
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
    /** The text contains the complete part. */
    private static final int WHOLE = 1;
    /** The text has another form. */
    private static final int OTHER = -1;

    private final String text;
    private final List<Tool> tools;
    private final List<String> members = new ArrayList<>();
    private final int end;
    private String name = "";
    /** The name that was read last. */
    private String key = "";

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
        int named = name();
        if (named != WHOLE) {
            return named;
        }
        name = key;
        at = JsonText.space(text, at);
        while (take(PARAMETER)) {
            int read = parameter();
            if (read != WHOLE) {
                return read;
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

    /** Reads a name in one line, and its end. */
    private int name() {
        int nameEnd = text.indexOf('>', at);
        if (nameEnd < 0) {
            return OPEN;
        }
        String written = text.substring(at, nameEnd);
        key = written.strip();
        at = nameEnd + 1;
        return key.isEmpty() || written.contains("\n") ? OTHER : WHOLE;
    }

    /** Reads a parameter after its mark. */
    private int parameter() {
        int named = name();
        if (named != WHOLE || at == text.length()) {
            return Math.min(named, OPEN);
        }
        take("\n");
        boolean isText = Tool.isText(tools, name, key);
        int from = isText ? at : behindJson();
        int close = from < 0 ? -1 : text.indexOf(VALUE_END, from);
        if (close < 0) {
            return OPEN;
        }
        String value = text.substring(at, close);
        value = value.endsWith("\n") ? value.substring(0, value.length() - 1) : value;
        members.add(member(key, value, isText));
        at = close + VALUE_END.length();
        return WHOLE;
    }

    /**
     * Returns the index after a string, list or object that is the whole value; the index of the value if the value is none of these; -1 if
     * more text is needed.
     */
    private int behindJson() {
        int begin = JsonText.space(text, at);
        if (begin == text.length() || "\"{[".indexOf(text.charAt(begin)) < 0) {
            return at;
        }
        int behind = JsonText.nestedEnd(text, begin, true);
        if (behind < 0) {
            return behind == JsonText.NONE ? at : -1;
        }
        int mark = JsonText.space(text, behind);
        if (!text.startsWith(VALUE_END, mark)) {
            boolean mayFollow = text.length() - mark < VALUE_END.length() && VALUE_END.startsWith(text.substring(mark));
            return mayFollow ? -1 : at;
        }
        return JsonText.isValue(text.substring(begin, behind)) ? behind : at;
    }
}

package io.multihead.internal.toolcall;

import java.util.List;
import java.util.regex.Pattern;

/** {@code call:name{key:<escape>text<escape>,other:1}} between two marks, in the notation of Gemma. */
public final class GemmaCalls extends CallSyntax {
    private static final String HEAD = "call:";

    private final String mark;
    private final String close;
    private final String escape;

    private GemmaCalls(String mark, String close, String escape) {
        super(Pattern.quote(mark + "call:probed_name{key:" + escape + "value" + escape + "}" + close), List.of(mark));
        this.mark = mark;
        this.close = close;
        this.escape = escape;
    }

    public static GemmaCalls functionGemma() {
        return new GemmaCalls("<start_function_call>", "<end_function_call>", "<escape>");
    }

    /** Returns the syntax of Gemma 4. */
    public static GemmaCalls gemma4() {
        return new GemmaCalls("<|tool_call>", "<tool_call|>", "<|\"|>");
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        return beforeMark(text, close, ended, outside(text), this::read);
    }

    /** Returns the index of the first mark after a call that is outside strings; -1 for none. */
    private int outside(String text) {
        int last = text.indexOf(close);
        int string = text.indexOf(escape);
        while (last >= 0 && string >= 0 && string < last) {
            int end = text.indexOf(escape, string + escape.length());
            if (end < 0) {
                return -1;
            }
            int behind = end + escape.length();
            last = last < behind ? text.indexOf(close, behind) : last;
            string = text.indexOf(escape, behind);
        }
        return last;
    }

    /** Reads the call before the mark at an index. */
    private Reading read(String text, int last) {
        int end = last + close.length();
        String body = text.substring(mark.length(), last).strip();
        int brace = body.indexOf('{');
        if (body.startsWith(HEAD) && brace > 0) {
            String name = body.substring(HEAD.length(), brace).strip();
            try {
                Call call = new Call("", name, new GemmaValues(body, escape, brace).whole());
                return Reading.calls(List.of(new Reading.Part(call, end)), end);
            } catch (IllegalArgumentException malformed) {
                return Reading.broken(List.of(), end, String.valueOf(malformed.getMessage()));
            }
        }
        return Reading.broken(List.of(), end, Reading.problem(body, "expected call:name{...}"));
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        tools.forEach(tool -> requireName(tool, "[^{<]"));
        String call =
                rules.each(tools, (all, tool) -> CallRules.literal(tool.name()) + " " + all.arguments(tool, escape));
        return rules.calls(mark, CallRules.literal(HEAD) + " " + call + " " + rules.token(close), "");
    }
}

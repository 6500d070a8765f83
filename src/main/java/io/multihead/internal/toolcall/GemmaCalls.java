package io.multihead.internal.toolcall;

import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** {@code call:name{key:<escape>text<escape>,other:1}} between two marks, as Gemma writes it. */
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

    /** Returns that of Gemma 4. */
    public static GemmaCalls gemma4() {
        return new GemmaCalls("<|tool_call>", "<tool_call|>", "<|\"|>");
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        int last = text.indexOf(close);
        if (last < 0) {
            return Reading.unfinished(List.of(), text, ended, close + " after it");
        }
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
        String call = rules.each(tools, this::function);
        String rest = CallRules.literal(HEAD) + " " + call + " \"}\" " + rules.token(close);
        return rules.calls(mark, rest, "");
    }

    private String function(CallRules rules, Tool tool) {
        return CallRules.literal(tool.name() + "{") + " " + rules.members(tool, ",", this::argument);
    }

    private String argument(CallRules rules, Tool tool, String key) {
        Map<?, ?> schema = tool.properties().getOrDefault(key, Map.of());
        String begin = CallRules.literal(key + ":");
        if (Tool.isText(schema)) {
            return begin + " " + rules.token(escape) + " " + rules.text(tool, key, escape);
        }
        if (!Tool.isScalar(schema)) {
            throw new IllegalArgumentException(
                    "tools." + tool.name() + ".parameters.properties." + key
                            + ": neither a text nor a number nor a boolean; expected one of these, as calls of this model have no grammar of others");
        }
        return begin + " " + rules.argument(tool, key);
    }
}

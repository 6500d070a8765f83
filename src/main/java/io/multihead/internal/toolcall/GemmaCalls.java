package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** {@code <start_function_call>call:name{key:<escape>text<escape>,other:1}<end_function_call>}, as FunctionGemma writes it. */
public final class GemmaCalls extends CallSyntax {
    private static final String CALL = "<start_function_call>";
    private static final String CALL_END = "<end_function_call>";
    private static final String HEAD = "call:";

    public GemmaCalls() {
        super("<start_function_call>call:probed_name\\{key:<escape>value<escape>}<end_function_call>", List.of(CALL));
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        int close = text.indexOf(CALL_END);
        if (close < 0) {
            return Reading.unfinished(List.of(), text, ended, CALL_END + " after it");
        }
        int end = close + CALL_END.length();
        String body = text.substring(CALL.length(), close).strip();
        int brace = body.indexOf('{');
        if (body.startsWith(HEAD) && brace > 0) {
            String name = body.substring(HEAD.length(), brace).strip();
            try {
                Call call = new Call("", name, new GemmaValues(body, brace).whole());
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
        String call = rules.each(tools, GemmaCalls::function);
        String rest = CallRules.literal(HEAD) + " " + call + " \"}\" " + rules.token(CALL_END);
        return rules.calls(CALL, rest, "");
    }

    /** Returns a call's rule: required arguments, then others, each of which has a comma before it unless it is the first. */
    private static String function(CallRules rules, Tool tool) {
        tool.requireFlat();
        List<String> required = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (String key : tool.properties().keySet()) {
            (tool.isRequired(key) ? required : others).add(argument(rules, tool, key));
        }
        String tail = "";
        List<String> begins = new ArrayList<>();
        for (String argument : others.reversed()) {
            begins.add(argument + " " + tail);
            tail = "(\",\" " + argument + ")? " + tail;
        }
        // where none is required, any of the others may be the first
        String rest = required.isEmpty() && !begins.isEmpty() ? "(" + String.join(" | ", begins) + ")?" : tail;
        return CallRules.literal(tool.name() + "{") + " " + String.join(" \",\" ", required) + " " + rest;
    }

    private static String argument(CallRules rules, Tool tool, String key) {
        Map<?, ?> schema = tool.properties().getOrDefault(key, Map.of());
        String begin = CallRules.literal(key + ":");
        if (Tool.isText(schema)) {
            return begin + " " + rules.token(GemmaValues.ESCAPE) + " " + rules.text(tool, key, GemmaValues.ESCAPE);
        }
        if (!Tool.isScalar(schema)) {
            throw new IllegalArgumentException(
                    "tools." + tool.name() + ".parameters.properties." + key
                            + ": neither a text nor a number nor a boolean; expected one of these, as calls of this model have no grammar of others");
        }
        return begin + " " + rules.schema(tool.name() + "-" + key, tool.property(key));
    }
}

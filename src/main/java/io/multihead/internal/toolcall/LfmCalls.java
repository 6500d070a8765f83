package io.multihead.internal.toolcall;

import io.multihead.text.PromptText;
import java.util.List;
import java.util.Optional;

/**
 * A list of calls in Python between two marks, in the notation of LFM2: {@code <|tool_call_start|>[name(key="text",
 * other=1)]<|tool_call_end|>}. If the list is JSON, it is read as JSON.
 */
public final class LfmCalls extends CallSyntax {
    private static final String CALLS = "<|tool_call_start|>";
    private static final String END = "<|tool_call_end|>";
    private static final String NAMES = "[\\w.-]";
    private static final ListCalls JSON = ListCalls.between(CALLS, END);

    public LfmCalls() {
        super(
                "<\\|tool_call_start\\|>\\[(probed_name\\(key=(['\"])value\\2\\)|\\{\"name\": \"probed_name\", \"arguments\": \\{.*}.*})]<\\|tool_call_end\\|>",
                List.of(CALLS));
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        int first = JsonText.space(text, JsonText.space(text, CALLS.length()) + 1);
        if (text.startsWith("{", first)) {
            return JSON.read(text, ended, tools);
        }
        return beforeMark(text, END, ended, PythonCalls.outside(text, END), LfmCalls::read);
    }

    /** Reads the calls before the mark at an index. */
    private static Reading read(String text, int close) {
        int end = close + END.length();
        try {
            List<Call> calls = new PythonCalls(text.substring(CALLS.length(), close)).calls();
            return Reading.calls(
                    calls.stream().map(call -> new Reading.Part(call, end)).toList(), end);
        } catch (IllegalArgumentException malformed) {
            return Reading.broken(List.of(), end, String.valueOf(malformed.getMessage()));
        }
    }

    @Override
    public Optional<PromptText> write(List<Call> calls) {
        PromptText.Builder text = new PromptText.Builder().append(CALLS + "[", false);
        for (int i = 0; i < calls.size(); i++) {
            text.append(i == 0 ? "" : ", ", false).append(PythonCalls.write(calls.get(i)), true);
        }
        return Optional.of(text.append("]" + END, false).build());
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        String call = rules.each(tools, LfmCalls::call);
        return rules.call(CALLS, "\"[\" " + call + " (\", \" " + call + ")* \"]\" " + rules.token(END));
    }

    private static String call(CallRules rules, Tool tool) {
        requireName(tool, NAMES);
        return CallRules.literal(tool.name() + "(") + " " + rules.members(tool, ", ", LfmCalls::argument) + " \")\"";
    }

    /** Returns the rule of an argument, whose value is JSON. {@link PythonCalls} reads values of Python and of JSON. */
    private static String argument(CallRules rules, Tool tool, String key) {
        requireName(key, "tools." + tool.name() + ".parameters.properties." + key, NAMES);
        return CallRules.literal(key + "=") + " " + rules.argument(tool, key);
    }
}

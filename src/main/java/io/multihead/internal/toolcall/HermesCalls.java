package io.multihead.internal.toolcall;

import java.util.List;

/** {@code <tool_call>{"name": ..., "arguments": {...}}</tool_call>}, as Hermes, Qwen 2.5 and 3, SmolLM3 and Granite 4 write it. */
public final class HermesCalls extends CallSyntax {
    private static final String CALL = "<tool_call>";
    private static final String CALL_END = "</tool_call>";
    private static final List<String> ARGUMENTS = List.of("arguments");

    public HermesCalls() {
        super("<tool_call>\\s*\\{\"name\": \"probed_name\", \"arguments\": \\{.*}}\\s*</tool_call>", List.of(CALL));
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        ObjectCall call = ObjectCall.read(text, JsonText.space(text, CALL.length()), ARGUMENTS);
        List<Reading.Part> parts = call.addTo(List.of());
        int at = JsonText.space(text, call.end());
        if (call.isComplete() && text.startsWith(CALL_END, at)) {
            return Reading.calls(parts, at + CALL_END.length());
        }
        // the object alone is no call before its mark
        List<Reading.Part> open = parts.stream()
                .map(part -> new Reading.Part(part.call(), ObjectCall.OPEN))
                .toList();
        int end = text.indexOf(CALL_END, call.end());
        if (end >= 0) {
            String problem = call.problem().isEmpty()
                    ? Reading.problem(text.substring(0, end), "expected a JSON object")
                    : call.problem();
            return Reading.broken(open, end + CALL_END.length(), problem);
        }
        return Reading.unfinished(open, text, ended, CALL_END + " after it");
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        String call = rules.each(tools, (all, tool) -> object(all, tool, "\n", "arguments"));
        String rest = call + " " + CallRules.literal("}\n") + " " + rules.token(CALL_END);
        return rules.calls(CALL, rest, CallRules.literal("\n"));
    }
}

package io.multihead.internal.toolcall;

import java.util.List;

/**
 * {@code [TOOL_CALLS]name[ARGS]{...}}, one after another, in the notation of Mistral's models since 2025. Some models write
 * {@code [CALL_ID]} and an id.
 */
public final class NamedCalls extends CallSyntax {
    private static final String CALL = "[TOOL_CALLS]";
    private static final String ID = "[CALL_ID]";
    private static final String ARGUMENTS = "[ARGS]";

    public NamedCalls() {
        super("\\[TOOL_CALLS]probed_name(\\[CALL_ID]\\w+)?\\[ARGS]\\{.*}", List.of(CALL));
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        int at = text.indexOf(ARGUMENTS);
        if (at < 0) {
            return Reading.unfinished(List.of(), text, ended, ARGUMENTS + " after it");
        }
        String header = text.substring(CALL.length(), at);
        int id = header.indexOf(ID);
        String name = (id < 0 ? header : header.substring(0, id)).strip();
        Call call = new Call(id < 0 ? "" : header.substring(id + ID.length()).strip(), name, "");
        return BareArguments.read(call, text, at + ARGUMENTS.length(), ended);
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        tools.forEach(tool -> requireName(tool, "[^\\[]"));
        String middle = rules.token(ARGUMENTS);
        String call = rules.each(
                tools, (all, tool) -> CallRules.literal(tool.name()) + " " + middle + " " + all.arguments(tool));
        return rules.calls(CALL, call, "");
    }
}

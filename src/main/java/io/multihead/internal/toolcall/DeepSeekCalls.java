package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Calls of a name and a JSON object within marks, with marks around all of them, in the notation of DeepSeek. */
public final class DeepSeekCalls extends CallSyntax {
    private static final String CALLS = "<\uff5ctool\u2581calls\u2581begin\uff5c>";
    private static final String CALLS_END = "<\uff5ctool\u2581calls\u2581end\uff5c>";
    private static final String CALL = "<\uff5ctool\u2581call\u2581begin\uff5c>";
    private static final String CALL_END = "<\uff5ctool\u2581call\u2581end\uff5c>";
    private static final String SEPARATOR = "<\uff5ctool\u2581sep\uff5c>";

    /** Whether a call begins with {@code function} and has its arguments as a block of code, as before DeepSeek V3.1. */
    private final boolean fenced;
    /** The text between the marks of a call: a name and arguments. */
    private final Pattern body;

    private DeepSeekCalls(boolean fenced) {
        super(
                CALLS + "\\s*" + CALL
                        + (fenced ? "function" + SEPARATOR + "probed_name\\s*```json\\s*" : "probed_name" + SEPARATOR)
                        + "\\{.*}(\\s*```)?" + CALL_END,
                List.of(CALLS));
        this.fenced = fenced;
        body = Pattern.compile(
                fenced
                        ? "\\s*function" + SEPARATOR + "([^\\n]+)\\n```json\\n(.*?)\\s*```\\s*"
                        : "\\s*([^<]+)" + SEPARATOR + "(.*)",
                Pattern.DOTALL);
    }

    /** Returns the syntax of DeepSeek V3 and R1: {@code function}, a separator, a name, and a block of JSON. */
    public static DeepSeekCalls fenced() {
        return new DeepSeekCalls(true);
    }

    /** Returns the syntax of DeepSeek V3.1: a name, a separator, and JSON. */
    public static DeepSeekCalls bare() {
        return new DeepSeekCalls(false);
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        List<Reading.Part> calls = new ArrayList<>();
        int at = JsonText.space(text, CALLS.length());
        while (text.startsWith(CALL, at)) {
            int close = close(text, at, ended);
            if (close < 0) {
                return Reading.unfinished(calls, text, ended, CALL_END + " after it");
            }
            String whole = text.substring(at + CALL.length(), close);
            Matcher parts = body.matcher(whole);
            String problem = parts.matches()
                    ? JsonText.problem(parts.group(2))
                    : Reading.problem(whole, "expected a name and a JSON object");
            if (!problem.isEmpty()) {
                return broken(calls, text, at, ended, problem);
            }
            at = close + CALL_END.length();
            calls.add(new Reading.Part(
                    new Call("", parts.group(1).strip(), parts.group(2).strip()), at));
            at = JsonText.space(text, at);
        }
        if (!calls.isEmpty() && text.startsWith(CALLS_END, at)) {
            return Reading.calls(calls, at + CALLS_END.length());
        }
        String rest = text.substring(at);
        boolean goesOn = CALL.startsWith(rest) || CALLS_END.startsWith(rest);
        return goesOn
                ? Reading.unfinished(calls, text, ended, CALLS_END + " after it")
                : broken(calls, text, at, ended, Reading.problem(text, "expected " + CALL + " or " + CALLS_END));
    }

    /**
     * Returns the index of the mark after the call that begins at an index; the result is negative if the call continues; arguments may
     * contain the mark in a string.
     */
    private static int close(String text, int at, boolean ended) {
        int first = text.indexOf(CALL_END, at);
        int object = text.indexOf('{', at);
        if (object < 0 || object > first) {
            return first;
        }
        int end = JsonText.valueEnd(text, object);
        int behind = end < 0 ? -1 : text.indexOf(CALL_END, end);
        return behind < 0 && ended ? first : behind;
    }

    /** Returns malformed calls that end after the mark or at the end of the text, or open calls while the mark may follow. */
    private static Reading broken(List<Reading.Part> calls, String text, int from, boolean ended, String problem) {
        int close = text.indexOf(CALLS_END, from);
        if (close < 0 && !ended) {
            return Reading.open(calls);
        }
        return Reading.broken(calls, close < 0 ? text.length() : close + CALLS_END.length(), problem);
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        tools.forEach(tool -> requireName(tool, "[^<{\\n]"));
        String separator = rules.token(SEPARATOR);
        String call = rules.each(
                tools,
                (all, tool) -> fenced
                        ? CallRules.literal("function") + " " + separator + " "
                                + CallRules.literal(tool.name() + "\n```json\n") + " " + all.arguments(tool) + " "
                                + CallRules.literal("\n```")
                        : CallRules.literal(tool.name()) + " " + separator + " " + all.arguments(tool));
        String whole = rules.token(CALL) + " " + call + " " + rules.token(CALL_END);
        String next = (fenced ? CallRules.literal("\n") + " " : "") + whole;
        return rules.call(CALLS, whole + " (" + next + ")* " + rules.token(CALLS_END));
    }
}

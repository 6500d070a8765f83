package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;

/** A list of <code>{"name": ..., "arguments": {...}}</code> behind a mark: Mistral's first form, and Phi's. */
public final class ListCalls extends CallSyntax {
    private static final String LIST = "[";

    private final String end;
    private final List<String> arguments;

    private ListCalls(List<String> marks, String end, List<String> arguments, String written) {
        super(written, marks, List.of(LIST));
        this.end = end;
        this.arguments = arguments;
    }

    /** Returns Mistral's: {@code [TOOL_CALLS] [{...}, {...}]}, to the end of the answer. */
    public static ListCalls mistral() {
        return new ListCalls(
                List.of("[TOOL_CALLS]"),
                "",
                List.of("arguments"),
                "\\[TOOL_CALLS] ?\\[\\{\"name\": ?\"probed_name\", ?\"arguments\": ?\\{.*}.*}]");
    }

    /** Returns Phi-4-mini's: {@code <|tool_call|>[{...}]<|/tool_call|>}, or {@code functools[{...}]}. */
    public static ListCalls phi() {
        return new ListCalls(
                List.of("<|tool_call|>", "functools["),
                "<|/tool_call|>",
                List.of("arguments", "parameters"),
                "<\\|tool_call\\|>\\s*\\[\\{\"name\": ?\"probed_name\", ?\"arguments\": ?\\{.*}.*}]");
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        boolean isMarked = marks().stream().anyMatch(text::startsWith);
        if (!isMarked && !ended && marks().stream().anyMatch(mark -> mark.startsWith(text))) {
            return Reading.open(List.of());
        }
        int begin = isMarked ? markLength(text) : 0;
        Reading reading = list(text, JsonText.space(text, begin), ended);
        boolean isBroken = reading.state() == Reading.State.BROKEN;
        if (isMarked) {
            boolean goesOn =
                    isBroken && !ended && !(text.substring(0, reading.end()).endsWith(end) && !end.isEmpty());
            return goesOn ? Reading.open(reading.calls()) : reading;
        }
        // without the mark, only an answer that is a list of calls and nothing else has calls
        boolean isAll = reading.state() == Reading.State.CALLS && JsonText.space(text, reading.end()) == text.length();
        if (isAll && ended) {
            return Reading.calls(reading.calls(), text.length());
        }
        return !ended && (isAll || reading.state() == Reading.State.OPEN)
                ? Reading.open(List.of())
                : Reading.text(LIST.length());
    }

    /** Returns the length of the mark without the list's bracket. */
    private int markLength(String text) {
        String mark = marks().stream().filter(text::startsWith).findFirst().orElseThrow();
        return mark.endsWith(LIST) ? mark.length() - 1 : mark.length();
    }

    private Reading list(String text, int from, boolean ended) {
        List<Reading.Part> calls = new ArrayList<>();
        int at = from;
        String open = LIST;
        while (at < text.length()) {
            boolean isEnd = !open.equals(LIST) && text.charAt(at) == ']';
            if (isEnd) {
                return ended(calls, text, at + 1, ended);
            }
            if (!text.startsWith(open, at)) {
                return broken(calls, text, at, Reading.problem(text, "expected a list of calls"));
            }
            at = JsonText.space(text, at + 1);
            open = ",";
            if (at == text.length()) {
                break;
            }
            ObjectCall call = ObjectCall.read(text, at, arguments);
            calls = new ArrayList<>(call.addTo(calls));
            if (!call.problem().isEmpty()) {
                return broken(calls, text, call.end(), call.problem());
            }
            if (!call.isComplete()) {
                break;
            }
            at = JsonText.space(text, call.end());
        }
        return Reading.unfinished(calls, text, ended, "a whole list of calls");
    }

    /** Reads the mark behind a list, which may be left out. */
    private Reading ended(List<Reading.Part> calls, String text, int from, boolean ended) {
        int at = JsonText.space(text, from);
        if (end.isEmpty() || text.startsWith(end, at)) {
            return Reading.calls(calls, end.isEmpty() ? from : at + end.length());
        }
        boolean mayCome = !ended && end.startsWith(text.substring(at));
        return mayCome ? Reading.open(calls) : Reading.calls(calls, from);
    }

    /** Ends behind the mark, or with the text. */
    private Reading broken(List<Reading.Part> calls, String text, int from, String problem) {
        int at = end.isEmpty() ? -1 : text.indexOf(end, from);
        return Reading.broken(calls, at < 0 ? text.length() : at + end.length(), problem);
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        String call = rules.each(tools, (all, tool) -> object(all, tool, "", "arguments"));
        String close = end.isEmpty() ? "" : rules.token(end);
        rules.rule("element", call + " \"}\"");
        return rules.call(marks().getFirst(), "\"[\" element (\", \" element)* \"]\" " + close);
    }
}

package io.multihead.internal.toolcall;

import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A list of <code>{"name": ..., "arguments": {...}}</code>, after a mark. */
public class ListCalls extends CallSyntax {
    private static final String LIST = "[";
    private static final ObjectCall.Keys ARGUMENTS = ObjectCall.Keys.of("arguments", "parameters");
    /** The call that a template writes, in a list. */
    private static final String OBJECT = "\\[\\{\"name\": ?\"probed_name\", ?\"arguments\": ?\\{.*}.*}]";

    private final String end;
    private final ObjectCall.Keys keys;

    /**
     * Creates a format.
     *
     * @param marks the marks with which lists begin; an answer is written with the first one; a mark may end with the beginning of the list
     * @param firstMarks the marks with which lists may begin if no other text precedes them
     * @param end the mark after a list; empty for none
     * @param keys the names of the members of a call
     * @param written a template's list of one call, with its marks
     */
    ListCalls(List<String> marks, List<String> firstMarks, String end, ObjectCall.Keys keys, String written) {
        super(written, marks, firstMarks);
        this.end = end;
        this.keys = keys;
    }

    /** Returns the syntax of Mistral: {@code [TOOL_CALLS] [{...}, {...}]}, to the end of the answer. */
    public static ListCalls mistral() {
        return new ListCalls(
                List.of("[TOOL_CALLS]"),
                List.of(LIST),
                "",
                ObjectCall.Keys.of("arguments"),
                "\\[TOOL_CALLS] ?" + OBJECT);
    }

    /** Returns the syntax of Phi-4-mini: {@code <|tool_call|>[{...}]<|/tool_call|>}, or {@code functools[{...}]}. */
    public static ListCalls phi() {
        return new ListCalls(
                List.of("<|tool_call|>", "functools["),
                List.of(LIST),
                "<|/tool_call|>",
                ARGUMENTS,
                "<\\|tool_call\\|>\\s*" + OBJECT + "\\s*<\\|/tool_call\\|>");
    }

    /** Returns the syntax of Granite 3: {@code <|tool_call|>[{...}]}, to the end of the answer. */
    public static ListCalls granite() {
        return new ListCalls(List.of("<|tool_call|>"), List.of(LIST), "", ARGUMENTS, "<\\|tool_call\\|>\\s*" + OBJECT);
    }

    /** Returns the syntax of FireFunction: {@code functools[{...}]}. */
    public static ListCalls fireFunction() {
        return new ListCalls(List.of("functools["), List.of(), "", ARGUMENTS, "functools" + OBJECT);
    }

    /** Returns the syntax of Nemotron: {@code <TOOLCALL>[{...}]</TOOLCALL>}. */
    public static ListCalls nemotron() {
        return new ListCalls(
                List.of("<TOOLCALL>"),
                List.of(),
                "</TOOLCALL>",
                ARGUMENTS,
                "<TOOLCALL>\\s*" + OBJECT + "\\s*</TOOLCALL>");
    }

    /** Returns the syntax of Cogito: the list without another mark, which begins with a name. */
    public static ListCalls cogito() {
        return new ListCalls(List.of("[{\"name\":"), List.of(), "", ObjectCall.Keys.of("arguments"), OBJECT);
    }

    /** Returns lists in JSON between other marks, which are only read. */
    static ListCalls between(String mark, String end) {
        return new ListCalls(List.of(mark), List.of(), end, ARGUMENTS, OBJECT);
    }

    @Override
    public boolean isBare() {
        return marks().getFirst().startsWith(LIST + "{");
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
        // without the mark, only an answer that consists of a list of calls has calls
        boolean isAll = reading.state() == Reading.State.CALLS && JsonText.space(text, reading.end()) == text.length();
        if (isAll && ended) {
            return Reading.calls(reading.calls(), text.length());
        }
        return !ended && (isAll || reading.state() == Reading.State.OPEN)
                ? Reading.open(List.of())
                : Reading.text(LIST.length());
    }

    /** Returns the length of the mark without the part that belongs to the list. */
    private int markLength(String text) {
        String mark = marks().stream().filter(text::startsWith).findFirst().orElseThrow();
        return mark.length() - listOf(mark).length();
    }

    private String listOf(String mark) {
        return isBare() ? mark : mark.endsWith(LIST) ? LIST : "";
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
            ObjectCall call = ObjectCall.read(text, at, keys);
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

    /** Reads the mark after a list, which may be omitted. */
    private Reading ended(List<Reading.Part> calls, String text, int from, boolean ended) {
        int at = JsonText.space(text, from);
        if (end.isEmpty() || text.startsWith(end, at)) {
            return Reading.calls(calls, end.isEmpty() ? from : at + end.length());
        }
        boolean mayCome = !ended && end.startsWith(text.substring(at));
        return mayCome ? Reading.open(calls) : Reading.calls(calls, from);
    }

    /** Returns malformed calls that end after the end mark, or at the end of the text if no end mark follows. */
    private Reading broken(List<Reading.Part> calls, String text, int from, String problem) {
        int at = end.isEmpty() ? -1 : text.indexOf(end, from);
        return Reading.broken(calls, at < 0 ? text.length() : at + end.length(), problem);
    }

    @Override
    public Optional<PromptText> write(List<Call> calls) {
        String mark = marks().getFirst();
        PromptText.Builder text = new PromptText.Builder()
                .append(mark.substring(0, mark.length() - listOf(mark).length()) + LIST, false);
        for (int i = 0; i < calls.size(); i++) {
            text.append(i == 0 ? "" : ", ", false).append(object(calls.get(i)));
        }
        return Optional.of(text.append("]" + end, false).build());
    }

    /** Returns the rule of an object up to the value of its name. */
    String objectBegin() {
        return CallRules.literal("{\"name\": ");
    }

    /** Returns the line feed and the spaces before an object in a separate line; empty if all objects are in one line. */
    String indent() {
        return "";
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        String mark = marks().getFirst();
        String arguments = keys.arguments().getFirst();
        String call = rules.each(tools, (all, tool) -> nameAndArguments(all, tool, arguments) + " \"}\"");
        // a mark may contain the beginning of the list and of its first object
        String first = isBare() ? "\" \" " + call : objectBegin() + " " + call;
        String open = listOf(mark).isEmpty() ? CallRules.literal(LIST + indent()) + " " : "";
        String next = CallRules.literal("," + (indent().isEmpty() ? " " : indent())) + " " + objectBegin() + " " + call;
        String close = CallRules.literal((indent().isEmpty() ? "" : "\n") + "]")
                + (end.isEmpty() ? "" : " " + rules.token(end));
        return rules.call(mark, open + first + " (" + next + ")* " + close);
    }
}

package io.multihead.internal.toolcall;

import io.multihead.internal.base.Checks;
import io.multihead.text.PromptText;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** The notation in which a family of models writes calls within the text of an answer. Immutable. */
public abstract class CallSyntax {
    private final Pattern written;
    private final List<String> marks;
    private final List<String> firstMarks;

    CallSyntax(String written, List<String> marks) {
        this(written, marks, List.of());
    }

    CallSyntax(String written, List<String> marks, List<String> firstMarks) {
        this.written = Pattern.compile(written, Pattern.DOTALL);
        this.marks = marks;
        this.firstMarks = firstMarks;
    }

    /** Returns a template's text for a call of {@code probed_name} with the argument {@code key} of value {@code value}. */
    public final Pattern written() {
        return written;
    }

    /** Returns texts with which calls begin, anywhere in an answer. */
    public final List<String> marks() {
        return marks;
    }

    /** Returns texts with which calls may begin if no other text precedes them. */
    public final List<String> firstMarks() {
        return firstMarks;
    }

    /** Reads the calls at the beginning of a text, which begins with a mark. */
    public abstract Reading read(String text, boolean ended, List<Tool> tools);

    /** Returns the rule {@code calls}, of one call or more. */
    public abstract CallRules rules(List<Tool> tools);

    /** Returns calls in the form of an answer; empty if only templates write them. */
    public Optional<PromptText> write(List<Call> calls) {
        return Optional.empty();
    }

    /** Reads a text up to the mark at an index. */
    interface UpToMark {
        /** Returns the calls before the mark. */
        Reading read(String text, int at);
    }

    /**
     * Reads the calls that end with a mark, which a string within them may also contain.
     *
     * @param outside the index of the first mark outside strings; -1 for none
     */
    static Reading beforeMark(String text, String mark, boolean ended, int outside, UpToMark calls) {
        int first = text.indexOf(mark);
        if (first < 0) {
            return Reading.unfinished(List.of(), text, ended, mark + " after it");
        }
        if (outside < 0 && !ended) {
            return Reading.open(List.of());
        }
        // a string without an end may be a malformed call, which ends with the first mark
        Reading whole = calls.read(text, outside < 0 ? first : outside);
        return outside == first || whole.state() == Reading.State.CALLS ? whole : calls.read(text, first);
    }

    /** Returns a call as an object with a name and arguments. */
    static PromptText object(Call call) {
        return new PromptText.Builder()
                .append("{\"name\": ", false)
                .append(JsonText.quoted(call.name()), true)
                .append(", \"arguments\": ", false)
                .append(call.arguments(), true)
                .append("}", false)
                .build();
    }

    /** Returns whether calls begin with JSON, so that a text before them shows that the format is another one. */
    public boolean isBare() {
        return false;
    }

    /** Returns marks around the text of an answer, which are not part of it. */
    public List<String> textMarks() {
        return List.of();
    }

    /** Returns whether an answer consists of messages on channels, which are not read as text with marks. */
    public boolean hasChannels() {
        return false;
    }

    /** Returns whether an answer has marks other than the marks of calls, with which it is read even if there are no tools. */
    public boolean hasMessages() {
        return hasChannels() || !textMarks().isEmpty();
    }

    /**
     * Fails unless a tool's name may be written in calls without quotes; {@code characters} is a regular expression of the characters that
     * it may have.
     */
    static void requireName(Tool tool, String characters) {
        requireName(tool.name(), "tools." + tool.name(), characters);
    }

    /** Fails unless a name at a place may be written in calls without quotes. */
    static void requireName(String name, String place, String characters) {
        if (name.isBlank() || !name.equals(name.strip()) || !name.matches(characters + "+")) {
            throw Checks.fail(
                    place,
                    "a name \"" + name + "\"",
                    "expected one or more characters " + characters
                            + " and no white space around them, as calls of this model write names without quotes");
        }
    }

    /** Returns a call's object up to its end, whose arguments have this name. */
    static String object(CallRules rules, Tool tool, String begin, String arguments) {
        return CallRules.literal(begin + "{\"name\": ") + " " + nameAndArguments(rules, tool, arguments);
    }

    /** Returns the rest of an object after the key of its name. */
    static String nameAndArguments(CallRules rules, Tool tool, String arguments) {
        return CallRules.quoted(tool.name()) + CallRules.literal(", \"" + arguments + "\": ") + " "
                + rules.arguments(tool);
    }
}

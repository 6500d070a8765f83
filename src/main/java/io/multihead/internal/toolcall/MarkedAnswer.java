package io.multihead.internal.toolcall;

import io.multihead.internal.toolcall.Reading.Part;
import io.multihead.internal.toolcall.Reading.State;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An answer whose thought and calls have marks around them: a thought at its beginning, text, and calls anywhere in the text. A possible
 * beginning of a mark waits for the next piece. A call is read again from its beginning with each piece until it is complete.
 */
public final class MarkedAnswer implements AnswerReader {
    /** The place that was reached in an answer. */
    private enum Place {
        BEGIN,
        THOUGHT,
        TEXT
    }

    private final @Nullable CallSyntax syntax;
    private final List<Tool> tools;
    private final AnswerSink sink;
    private final TrimmedText reasoning;
    private final TrimmedText text;
    private final StringBuilder held = new StringBuilder();
    private Place place;
    private String thoughtEnd;
    /** The number of the next call. */
    private int index;
    /**
     * The number of complete calls among the calls that are being read, and the number of characters of the call after them that were
     * passed on; -1 for none.
     */
    private int complete;

    private int sent = -1;

    /**
     * Begins an answer.
     *
     * @param syntax the syntax of calls; null if there are none
     * @param thoughtEnd the mark that ends a thought that the prompt began; empty for none
     */
    public MarkedAnswer(@Nullable CallSyntax syntax, List<Tool> tools, String thoughtEnd, AnswerSink sink) {
        this.syntax = syntax;
        this.tools = tools;
        this.sink = sink;
        reasoning = new TrimmedText(sink::reasoning);
        text = new TrimmedText(sink::text);
        reasoning.mark();
        this.thoughtEnd = thoughtEnd;
        place = thoughtEnd.isEmpty() ? Place.BEGIN : Place.THOUGHT;
        if (!thoughtEnd.isEmpty()) {
            text.mark();
        }
    }

    @Override
    public void add(String piece) {
        held.append(piece);
        read(false);
    }

    @Override
    public void end() {
        read(true);
        text.end();
    }

    private void read(boolean ended) {
        boolean goesOn = true;
        while (goesOn && !held.isEmpty()) {
            goesOn = switch (place) {
                case BEGIN -> begin(ended);
                case THOUGHT -> thought(ended);
                case TEXT -> text(ended);
            };
        }
    }

    /** Returns whether a mark begins at an index of the held text, or may begin there. */
    private boolean begins(String mark, int at, boolean ended) {
        int length = Math.min(mark.length(), held.length() - at);
        return (length == mark.length() || !ended) && held.indexOf(mark.substring(0, length), at) == at;
    }

    private boolean isWhole(String mark, int at) {
        return held.length() - at >= mark.length() && begins(mark, at, true);
    }

    private boolean begin(boolean ended) {
        int at = JsonText.space(held.toString(), 0);
        if (at == held.length() && !ended) {
            return false;
        }
        for (Thoughts.Marks marks : Thoughts.ALL) {
            String mark = marks.begin();
            if (isWhole(mark, at)) {
                held.delete(0, at + mark.length());
                thoughtEnd = marks.end();
                place = Place.THOUGHT;
                text.mark();
                return true;
            }
            if (begins(mark, at, ended) && at < held.length()) {
                return false;
            }
        }
        place = Place.TEXT;
        return true;
    }

    private boolean thought(boolean ended) {
        int at = 0;
        while (at < held.length() && !begins(thoughtEnd, at, ended)) {
            at++;
        }
        reasoning.add(held.substring(0, at));
        boolean isOver = isWhole(thoughtEnd, at);
        held.delete(0, isOver ? at + thoughtEnd.length() : at);
        place = isOver ? Place.TEXT : place;
        return isOver;
    }

    private boolean text(boolean ended) {
        int at = syntax == null ? held.length() : callBegin(syntax, ended);
        if (at > 0) {
            text.add(held.substring(0, at));
            held.delete(0, at);
        }
        if (held.isEmpty() || syntax == null) {
            return false;
        }
        for (String mark : syntax.textMarks()) {
            if (isWhole(mark, 0)) {
                text.mark();
                held.delete(0, mark.length());
                return true;
            }
        }
        if (!isCall(syntax)) {
            return false;
        }
        Reading reading = syntax.read(held.toString(), ended, tools);
        pass(reading);
        if (reading.state() == State.OPEN) {
            return false;
        }
        if (reading.state() == State.BROKEN) {
            int from = complete == 0 ? 0 : reading.calls().get(complete - 1).end();
            text.endSpace();
            // the reason applies only to the malformed text, independently of later text
            Reading alone = syntax.read(held.substring(0, reading.end()), true, tools);
            sink.broken(held.substring(from, reading.end()), alone.problem());
            index += sent < 0 ? 0 : 1;
        } else if (reading.state() == State.TEXT) {
            text.add(held.substring(0, reading.end()));
        }
        held.delete(0, reading.end());
        complete = 0;
        sent = -1;
        return true;
    }

    /**
     * Returns the index where a mark begins, or may begin; the length of the held text if there is none. White space before a mark is text,
     * which waits.
     */
    private int callBegin(CallSyntax calls, boolean ended) {
        int first = text.isEmpty() && index == 0 ? JsonText.space(held.toString(), 0) : held.length();
        List<String> marks = Stream.concat(calls.marks().stream(), calls.textMarks().stream())
                .toList();
        for (int at = 0; at < held.length(); at++) {
            int place = at;
            if (marks.stream().anyMatch(mark -> begins(mark, place, ended))
                    || at == first && calls.firstMarks().stream().anyMatch(mark -> begins(mark, place, ended))) {
                return at;
            }
        }
        return held.length();
    }

    /** Returns whether the held text begins with a complete mark. */
    private boolean isCall(CallSyntax calls) {
        return calls.marks().stream().anyMatch(mark -> isWhole(mark, 0))
                || text.isEmpty() && index == 0 && calls.firstMarks().stream().anyMatch(mark -> isWhole(mark, 0));
    }

    /** Passes on the new parts of calls. */
    private void pass(Reading reading) {
        while (complete < reading.calls().size()) {
            Part part = reading.calls().get(complete);
            Call call = part.call();
            text.mark();
            if (sent < call.arguments().length()) {
                sink.callPart(index, call.name(), call.arguments().substring(Math.max(sent, 0)));
                sent = call.arguments().length();
            }
            if (part.end() == ObjectCall.OPEN) {
                return;
            }
            sink.call(index, call);
            index++;
            complete++;
            sent = -1;
        }
    }
}

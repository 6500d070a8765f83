package io.multihead.internal.toolcall;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An answer in harmony: messages of a header and a body. Messages on the channel {@code analysis} are thoughts, messages to a function are
 * calls, and all others are text. The answer begins after {@code <|start|>assistant}.
 */
final class HarmonyAnswer implements AnswerReader {
    private static final Pattern TO = Pattern.compile("to=(?:functions\\.)?([^\\s<]+)");
    private static final List<String> BODY_ENDS =
            List.of(HarmonyCalls.END, HarmonyCalls.START, HarmonyCalls.CHANNEL, "<|call|>", "<|return|>");

    private final AnswerSink sink;
    private final TrimmedText reasoning;
    private final TrimmedText text;
    private final StringBuilder held = new StringBuilder();
    private boolean inBody;
    private boolean isQuoted;
    private boolean isEscaped;
    private String header = "";
    private String function = "";
    private final StringBuilder arguments = new StringBuilder();

    private int index;

    HarmonyAnswer(AnswerSink sink) {
        this.sink = sink;
        reasoning = new TrimmedText(sink::reasoning);
        text = new TrimmedText(sink::text);
        reasoning.mark();
    }

    @Override
    public void add(String piece) {
        held.append(piece);
        read(false);
    }

    @Override
    public void end() {
        read(true);
        while (inBody && putBack()) {
            read(true);
        }
        if (inBody) {
            endBody();
        }
        text.end();
    }

    private void read(boolean ended) {
        boolean goesOn = true;
        while (goesOn) {
            goesOn = inBody ? body(ended) : header(ended);
        }
    }

    private boolean header(boolean ended) {
        int at = held.indexOf(HarmonyCalls.MESSAGE);
        if (at < 0) {
            if (ended && held.indexOf("<|") < 0) {
                text.add(held.toString()); // this is an answer without channels
            } else if (ended && held.indexOf("to=") >= 0) {
                sink.broken(held.toString(), Reading.problem(held.toString(), "expected a whole call"));
            }
            return false;
        }
        text.mark();
        header = held.substring(0, at + HarmonyCalls.MESSAGE.length());
        held.delete(0, header.length());
        Matcher to = TO.matcher(header);
        function = to.find() ? to.group(1) : "";
        arguments.setLength(0);
        inBody = true;
        isQuoted = false;
        isEscaped = false;
        if (!function.isEmpty()) {
            sink.callPart(index, function, "");
        }
        return true;
    }

    private boolean body(boolean ended) {
        int at = 0;
        while (at < held.length() && (isQuoted || !isEnd(at, ended))) {
            follow(held.charAt(at));
            at++;
        }
        String part = held.substring(0, at);
        held.delete(0, at);
        if (!part.isEmpty()) {
            pass(part);
        }
        for (String end : BODY_ENDS) {
            if (held.indexOf(end) == 0) {
                if (putBack()) {
                    return true;
                }
                held.delete(0, end.startsWith(HarmonyCalls.CHANNEL) ? 0 : end.length());
                endBody();
                return true;
            }
        }
        return false;
    }

    /** Determines from each character of arguments whether the next one is within a string, which may contain marks. */
    private void follow(char c) {
        if (isEscaped || function.isEmpty()) {
            isEscaped = false;
        } else if (c == '"') {
            isQuoted = !isQuoted;
        } else {
            isEscaped = isQuoted && c == '\\';
        }
    }

    private boolean isEnd(int at, boolean ended) {
        for (String end : BODY_ENDS) {
            int length = Math.min(end.length(), held.length() - at);
            if ((length == end.length() || !ended) && held.indexOf(end.substring(0, length), at) == at) {
                return true;
            }
        }
        return false;
    }

    private void pass(String part) {
        if (!function.isEmpty()) {
            arguments.append(part);
            sink.callPart(index, function, part);
        } else if (header.contains(HarmonyCalls.CHANNEL + "analysis")) {
            reasoning.add(part);
        } else {
            text.add(part);
        }
    }

    /**
     * Restores the answer from the first mark in the arguments on, if the arguments are not JSON and a quote hid the mark and a message,
     * or the whole rest. Returns whether it was restored.
     */
    private boolean putBack() {
        int first = BODY_ENDS.stream()
                .mapToInt(arguments::indexOf)
                .filter(at -> at >= 0)
                .min()
                .orElse(-1);
        boolean hidesMore = first >= 0 && (isQuoted || arguments.indexOf(HarmonyCalls.MESSAGE, first) >= 0);
        if (!hidesMore || JsonText.problem(arguments.toString()).isEmpty()) {
            return false;
        }
        held.insert(0, arguments.substring(first));
        arguments.setLength(first);
        isQuoted = false;
        isEscaped = false;
        return true;
    }

    private void endBody() {
        inBody = false;
        if (function.isEmpty()) {
            return;
        }
        String problem = JsonText.problem(arguments.toString());
        if (problem.isEmpty()) {
            sink.call(index, new Call("", function, arguments.toString()));
        } else {
            sink.broken(header + arguments, problem);
        }
        index++;
        function = "";
    }
}

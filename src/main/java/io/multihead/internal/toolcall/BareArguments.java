package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;

/** Arguments that follow a name directly. */
final class BareArguments {
    private BareArguments() {}

    /** Reads an object that begins at an index, or after white space there. */
    static Reading read(Call call, String text, int from, boolean ended) {
        int begin = JsonText.space(text, from);
        List<Reading.Part> parts = new ArrayList<>();
        if (begin == text.length()) {
            return Reading.unfinished(parts, text, ended, "a JSON object after it");
        }
        boolean isObject = text.charAt(begin) == '{';
        int end = isObject ? JsonText.valueEnd(text, begin) : -1;
        String json = isObject ? end < 0 ? text.substring(begin) : text.substring(begin, end) : "";
        Call known = new Call(call.id(), call.name(), json);
        if (isObject && end < 0 && !ended) {
            return Reading.open(List.of(new Reading.Part(known, ObjectCall.OPEN)));
        }
        String problem = end < 0 ? Reading.problem(text, "expected a JSON object") : JsonText.problem(json);
        if (problem.isEmpty()) {
            return Reading.calls(List.of(new Reading.Part(known, end)), end);
        }
        if (isObject) {
            parts.add(new Reading.Part(known, ObjectCall.OPEN));
        }
        return ended ? Reading.broken(parts, text.length(), problem) : Reading.open(parts);
    }
}

package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;

/**
 * <code>{"name": ..., "parameters": {...}}</code> and nothing else, or several with semicolons between them, in the notation of Llama 3.1
 * to 3.3. Because calls have no mark, an answer with any other content is text, and calls are known only at the end of the answer.
 */
public final class LlamaCalls extends CallSyntax {
    private static final String TAG = "<|python_tag|>";
    private static final ObjectCall.Keys KEYS = ObjectCall.Keys.of("parameters");

    public LlamaCalls() {
        super("\\{\"name\": \"probed_name\", \"parameters\": \\{.*}}", List.of(), List.of(TAG, "{"));
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        int mark = text.startsWith(TAG) ? TAG.length() : 1;
        List<Reading.Part> calls = new ArrayList<>();
        int at = JsonText.space(text, text.startsWith(TAG) ? mark : 0);
        while (at < text.length()) {
            ObjectCall call = ObjectCall.read(text, at, KEYS);
            if (!call.isComplete()) {
                boolean isOpen = call.problem().isEmpty() && !ended;
                return isOpen ? Reading.open(List.of()) : Reading.text(mark);
            }
            calls = call.addTo(calls);
            at = JsonText.space(text, call.end());
            at = at < text.length() && text.charAt(at) == ';' ? JsonText.space(text, at + 1) : at;
        }
        if (ended) {
            return calls.isEmpty() ? Reading.text(mark) : Reading.calls(calls, text.length());
        }
        return Reading.open(List.of());
    }

    @Override
    public boolean isBare() {
        return true;
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        String call = rules.each(tools, (all, tool) -> object(all, tool, "", "parameters"));
        return rules.rule("call", call + " \"}\"").rule("calls", "call (\"; \" call)*");
    }
}

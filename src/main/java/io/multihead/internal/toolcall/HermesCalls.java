package io.multihead.internal.toolcall;

import io.multihead.text.PromptText;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** An object with a name and arguments between two marks, for each call: {@code <tool_call>{"name": ..., "arguments": {...}}</tool_call>}. */
public final class HermesCalls extends CallSyntax {
    private static final ObjectCall.Keys KEYS = ObjectCall.Keys.of("arguments");

    private final String mark;
    private final String end;
    /** White space within the marks. */
    private final String space;

    private HermesCalls(String mark, String end, String space) {
        super(
                Pattern.quote(mark) + "\\s*\\{\"name\": \"probed_name\", \"arguments\": \\{.*}}\\s*"
                        + Pattern.quote(end),
                List.of(mark));
        this.mark = mark;
        this.end = end;
        this.space = space;
    }

    /** Returns the syntax of Hermes, Qwen 2.5 and 3, SmolLM3 and Granite 4. */
    public static HermesCalls hermes() {
        return new HermesCalls("<tool_call>", "</tool_call>", "\n");
    }

    /** Returns the syntax of Nemotron-Mini: {@code <toolcall> {...} </toolcall>}. */
    public static HermesCalls nemotronMini() {
        return new HermesCalls("<toolcall>", "</toolcall>", " ");
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        ObjectCall call = ObjectCall.read(text, JsonText.space(text, mark.length()), KEYS);
        List<Reading.Part> parts = call.addTo(List.of());
        int at = JsonText.space(text, call.end());
        if (call.isComplete() && text.startsWith(end, at)) {
            return Reading.calls(parts, at + end.length());
        }
        // the object itself is not a call before its mark
        List<Reading.Part> open = parts.stream()
                .map(part -> new Reading.Part(part.call(), ObjectCall.OPEN))
                .toList();
        int behind = text.indexOf(end, call.end());
        if (behind >= 0) {
            String problem = call.problem().isEmpty()
                    ? Reading.problem(text.substring(0, behind), "expected a JSON object")
                    : call.problem();
            return Reading.broken(open, behind + end.length(), problem);
        }
        return Reading.unfinished(open, text, ended, end + " after it");
    }

    @Override
    public Optional<PromptText> write(List<Call> calls) {
        PromptText.Builder text = new PromptText.Builder();
        for (int i = 0; i < calls.size(); i++) {
            text.append((i == 0 ? "" : "\n") + mark + space, false)
                    .append(object(calls.get(i)))
                    .append(space + end, false);
        }
        return Optional.of(text.build());
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        String call = rules.each(tools, (all, tool) -> object(all, tool, space, "arguments"));
        String rest = call + " " + CallRules.literal("}" + space) + " " + rules.token(end);
        return rules.calls(mark, rest, CallRules.literal("\n"));
    }
}

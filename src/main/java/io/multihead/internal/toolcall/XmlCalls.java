package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * {@code <tool_call><function=name><parameter=key>value</parameter></function></tool_call>} with a line for each, as Qwen3-Coder and Qwen 3.5 write
 * it. A value is a text where the tool's schema says so, and otherwise JSON, if it is JSON.
 */
public final class XmlCalls extends CallSyntax {
    private static final String CALL = "<tool_call>";
    private static final String CALL_END = "</tool_call>";
    private static final String FUNCTION = "<function=";
    private static final String VALUE_END = "\n</parameter>\n";
    private static final String NAMED = "<parameter=([^>\\n]+)>\\n?(.*?)\\n?</parameter>\\s*";
    /** A value ends where another parameter follows, or the end of the function; it may have its mark elsewhere. */
    private static final Pattern PARAMETER = Pattern.compile(NAMED + "(?=<parameter=|\\z)", Pattern.DOTALL);
    /** Parameters are not read again in another way, of which there are twice as many with each. */
    private static final Pattern BODY = Pattern.compile(
            "\\s*(?:<tool_call>)?\\s*<function=([^>\\n]+)>\\s*((?:(?>" + NAMED
                    + "(?=<parameter=|</function>)))*+)</function>\\s*(?:</tool_call>)?",
            Pattern.DOTALL);

    public XmlCalls() {
        super(
                "<tool_call>\\s*<function=probed_name>\\s*<parameter=key>\\s*value\\s*</parameter>\\s*</function>\\s*</tool_call>",
                List.of(CALL, FUNCTION));
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        String last = text.startsWith(CALL) ? CALL_END : "</function>";
        int end = text.indexOf(last);
        if (end < 0) {
            return Reading.unfinished(List.of(), text, ended, last + " after it");
        }
        end += last.length();
        String whole = text.substring(0, end);
        Matcher body = BODY.matcher(whole);
        if (!body.matches()) {
            return Reading.broken(List.of(), end, Reading.problem(whole, "expected a function with parameters"));
        }
        String name = body.group(1).strip();
        List<String> arguments = new ArrayList<>();
        Matcher parameter = PARAMETER.matcher(body.group(2));
        while (parameter.find()) {
            String key = parameter.group(1).strip();
            String value = parameter.group(2);
            String json = Tool.isText(tools, name, key) ? JsonText.quoted(value) : JsonText.valueOf(value);
            arguments.add(JsonText.quoted(key) + ":" + json);
        }
        Call call = new Call("", name, "{" + String.join(",", arguments) + "}");
        return Reading.calls(List.of(new Reading.Part(call, end)), end);
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        String call = rules.each(tools, XmlCalls::function);
        String rest = CallRules.literal("\n" + FUNCTION) + " " + call + " " + CallRules.literal("</function>\n") + " "
                + rules.token(CALL_END);
        return rules.calls(CALL, rest, CallRules.literal("\n"));
    }

    private static String function(CallRules rules, Tool tool) {
        tool.requireFlat();
        return tool.properties().keySet().stream()
                .map(key -> parameter(rules, tool, key))
                .collect(Collectors.joining(" ", CallRules.literal(tool.name() + ">\n") + " ", ""));
    }

    private static String parameter(CallRules rules, Tool tool, String key) {
        Map<?, ?> schema = tool.properties().getOrDefault(key, Map.of());
        String begin = CallRules.literal("<parameter=" + key + ">\n");
        String value = Tool.isText(schema)
                ? rules.text(tool, key, VALUE_END)
                : rules.argument(tool, key) + " " + CallRules.literal(VALUE_END);
        return tool.isRequired(key) ? begin + " " + value : "(" + begin + " " + value + ")?";
    }
}

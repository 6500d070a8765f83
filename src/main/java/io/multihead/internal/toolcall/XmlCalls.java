package io.multihead.internal.toolcall;

import static io.multihead.internal.toolcall.XmlCall.CALL;
import static io.multihead.internal.toolcall.XmlCall.CALL_END;
import static io.multihead.internal.toolcall.XmlCall.FUNCTION;
import static io.multihead.internal.toolcall.XmlCall.FUNCTION_END;
import static io.multihead.internal.toolcall.XmlCall.VALUE_END;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * {@code <tool_call><function=name><parameter=key>value</parameter></function></tool_call>} with a line for each element, in the
 * notation of Qwen3-Coder and Qwen 3.5. A value is a text if the tool's schema states it, and otherwise JSON, if it is valid JSON.
 */
public final class XmlCalls extends CallSyntax {
    /** Keywords that a text's schema may have: lists of its values, and keywords without effect. */
    private static final Set<String> TEXT_KEYWORDS =
            Set.of("type", "enum", "const", "description", "title", "default", "examples", "$comment");

    private static final String NAMES = "[^>\\n]";
    private static final String NAMED = "<parameter=(?!\\s*>)([^>\\n]+)>\\n?(.*?)\\n?</parameter>\\s*";
    /**
     * A parameter. Its value ends where another parameter or the end of the function follows; elsewhere the value may contain the
     * end mark.
     */
    private static final Pattern PARAMETER = Pattern.compile(NAMED + "(?=<parameter=|\\z)", Pattern.DOTALL);
    /** Parameters are not read again in another way, because the number of ways doubles with each. */
    private static final Pattern BODY = Pattern.compile(
            "\\s*(?:<tool_call>)?\\s*<function=(?!\\s*>)([^>\\n]+)>\\s*((?:(?>" + NAMED
                    + "(?=<parameter=|</function>)))*+)</function>\\s*(?:</tool_call>)?",
            Pattern.DOTALL);

    public XmlCalls() {
        super(
                "<tool_call>\\s*<function=probed_name>\\s*<parameter=key>\\s*value\\s*</parameter>\\s*</function>\\s*</tool_call>",
                List.of(CALL, FUNCTION));
    }

    @Override
    public Reading read(String text, boolean ended, List<Tool> tools) {
        XmlCall required = new XmlCall(text, tools);
        if (required.isComplete()) {
            return required.reading();
        }
        if (required.isOpen() && !ended) {
            return Reading.open(List.of());
        }
        String last = text.startsWith(CALL) ? CALL_END : FUNCTION_END;
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
            arguments.add(XmlCall.member(key, parameter.group(2), Tool.isText(tools, name, key)));
        }
        Call call = new Call("", name, XmlCall.object(arguments));
        return Reading.calls(List.of(new Reading.Part(call, end)), end);
    }

    @Override
    public CallRules rules(List<Tool> tools) {
        CallRules rules = new CallRules();
        String call = rules.each(tools, XmlCalls::function);
        String rest = CallRules.literal("\n" + FUNCTION) + " " + call + " " + CallRules.literal(FUNCTION_END + "\n")
                + " " + rules.token(CALL_END);
        return rules.calls(CALL, rest, CallRules.literal("\n"));
    }

    private static String function(CallRules rules, Tool tool) {
        tool.requireFlat();
        requireName(tool, NAMES);
        return tool.properties().keySet().stream()
                .map(key -> parameter(rules, tool, key))
                .collect(Collectors.joining(" ", CallRules.literal(tool.name() + ">\n") + " ", ""));
    }

    private static String parameter(CallRules rules, Tool tool, String key) {
        String path = "tools." + tool.name() + ".parameters.properties." + key;
        requireName(key, path, NAMES);
        Map<?, ?> schema = tool.properties().getOrDefault(key, Map.of());
        String value = Tool.isText(schema)
                ? text(rules, schema, path)
                : rules.argument(tool, key) + " " + CallRules.literal("\n" + VALUE_END);
        String whole = CallRules.literal(XmlCall.PARAMETER + key + ">\n") + " " + value + " " + CallRules.literal("\n");
        return tool.isRequired(key) ? whole : "(" + whole + ")?";
    }

    /** Returns the rule of a text with the mark after it; fails if its schema restricts the text by other keywords than a list. */
    private static String text(CallRules rules, Map<?, ?> schema, String path) {
        for (Object keyword : schema.keySet()) {
            if (!TEXT_KEYWORDS.contains(keyword)) {
                throw new IllegalArgumentException(
                        path + "." + keyword
                                + ": a text with this keyword; expected none, as calls of this model write texts without quotes");
            }
        }
        Object values = schema.containsKey("const") ? Arrays.asList(schema.get("const")) : schema.get("enum");
        if (!(values instanceof List<?> list)) {
            return rules.until(VALUE_END);
        }
        List<String> texts = list.stream()
                .filter(String.class::isInstance)
                .map(String.class::cast)
                .toList();
        if (texts.isEmpty() || texts.stream().anyMatch(text -> text.contains(VALUE_END))) {
            throw new IllegalArgumentException(path + ": " + list
                    + "; expected a text of its type, without " + VALUE_END
                    + ", which ends texts in calls of this model");
        }
        return texts.stream()
                .map(CallRules::literal)
                .collect(Collectors.joining(" | ", "(", ") " + CallRules.literal("\n" + VALUE_END)));
    }
}

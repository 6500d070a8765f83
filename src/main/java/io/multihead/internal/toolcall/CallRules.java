package io.multihead.internal.toolcall;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.Collectors;

/** A grammar of calls in GBNF, with rules that are JSON schemas or control tokens. All rules are added before the grammar is used. */
public final class CallRules {
    /** The rule of calls whose first mark is already written. */
    private static final String MARKED = "marked";

    private final StringBuilder text = new StringBuilder();
    private final Map<String, String> schemas = new LinkedHashMap<>();
    private final Map<String, String> tokens = new LinkedHashMap<>();
    private final Map<String, String> stringMarks = new LinkedHashMap<>();
    private int rules;
    private String markOfCalls = "";

    /** Adds the rules of calls that each begin with a mark: {@code rest} follows it, and the separator is between calls. */
    CallRules calls(String mark, String rest, String separator) {
        String more = " (" + separator + " call)*";
        markOfCalls = mark;
        return rule("rest", rest)
                .rule("call", token(mark) + " rest")
                .rule("calls", "call" + more)
                .rule(MARKED, "rest" + more);
    }

    /** Adds the rules of calls that share one mark. */
    CallRules call(String mark, String rest) {
        markOfCalls = mark;
        return rule(MARKED, rest).rule("calls", token(mark) + " " + MARKED);
    }

    /**
     * Adds the rule of answers with any text, in which a mark of calls begins calls to the end of the answer.
     *
     * @param thoughtEnd the mark that ends the thought in which the answer begins; empty for none
     * @throws IllegalArgumentException if calls have no mark
     */
    public void beginText(String thoughtEnd) {
        if (markOfCalls.isEmpty()) {
            throw new IllegalArgumentException(
                    "calls without a mark in the text; expected one, as it says where the grammar begins");
        }
        String text = until(markOfCalls, MARKED, true);
        String thought = Thoughts.ALL.stream()
                .map(marks -> token(marks.begin()) + " " + until(marks.end()))
                .collect(Collectors.joining(" | ", "(", ")?"));
        rule("root", (thoughtEnd.isEmpty() ? thought : until(thoughtEnd)) + " " + text);
    }

    /**
     * Adds the rule with which answers begin.
     *
     * @param thoughtEnd the mark that ends the thought in which the answer begins; empty for none
     * @param calls whether an answer may be {@code calls}, a rule of the format
     * @param schema the schema of an answer in JSON; empty for none
     */
    public void begin(String thoughtEnd, boolean calls, String schema) {
        List<String> answers = new ArrayList<>();
        if (calls) {
            answers.add("calls");
        }
        if (!schema.isEmpty()) {
            schemas.put("answer", schema);
            answers.add("answer");
        }
        String any = "(" + String.join(" | ", answers) + ")";
        rule("root", thoughtEnd.isEmpty() ? any : until(thoughtEnd) + " [ \\n]{0,2} " + any);
    }

    /** Returns the rules in GBNF, including {@code root}. */
    public String text() {
        return text.toString();
    }

    /** Returns schemas by the names of rules. */
    public Map<String, String> schemas() {
        return schemas;
    }

    /** Returns the marks of strings by the names of rules whose schemas describe another notation than JSON. */
    public Map<String, String> stringMarks() {
        return stringMarks;
    }

    /** Returns names of control tokens by the names of rules. */
    public Map<String, String> tokens() {
        return tokens;
    }

    CallRules rule(String name, String body) {
        text.append(name).append(" ::= ").append(body).append('\n');
        return this;
    }

    /** Adds a rule; returns its name. */
    private String rule(String body) {
        String name = "rule-" + rules++;
        rule(name, body);
        return name;
    }

    /** Returns a rule of alternatives, one for each tool. */
    String each(List<Tool> tools, BiFunction<CallRules, Tool, String> body) {
        return rule(tools.stream().map(tool -> body.apply(this, tool)).collect(Collectors.joining(" | ")));
    }

    /** Writes the rule of one argument. */
    interface Argument {
        /** Returns the rule of a tool's argument, by its name. */
        String rule(CallRules rules, Tool tool, String key);
    }

    /**
     * Returns the rule of arguments that are written one by one: required arguments, then others, with a separator before all but the
     * first.
     */
    String members(Tool tool, String separator, Argument argument) {
        tool.requireFlat();
        String comma = literal(separator);
        List<String> required = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (String key : tool.properties().keySet()) {
            (tool.isRequired(key) ? required : others).add(argument.rule(this, tool, key));
        }
        String tail = "";
        List<String> begins = new ArrayList<>();
        for (String each : others.reversed()) {
            begins.add(each + " " + tail);
            tail = "(" + comma + " " + each + ")? " + tail;
        }
        // if no argument is required, any of the others may be the first
        String rest = required.isEmpty() && !begins.isEmpty() ? "(" + String.join(" | ", begins) + ")?" : tail;
        return String.join(" " + comma + " ", required) + " " + rest;
    }

    /** Returns the rule of a tool's arguments. */
    String arguments(Tool tool) {
        return schema(tool.name(), tool.objectSchema());
    }

    /** Returns the rule of a tool's arguments, with a mark before and after each string. */
    String arguments(Tool tool, String stringMark) {
        String name = arguments(tool);
        stringMarks.put(name, stringMark);
        return name;
    }

    /** Returns the rule of one argument of a tool. */
    String argument(Tool tool, String key) {
        return schema(tool.name() + "-" + key, tool.property(key));
    }

    /** Returns the rule of a schema's values; its name, which errors contain, identifies them. */
    String schema(String of, String schema) {
        String name = "arguments-of-" + of.replaceAll("[^A-Za-z0-9_]", "-") + "-" + schemas.size();
        schemas.put(name, schema);
        return name;
    }

    /** Returns the rule of a control token. */
    String token(String token) {
        String name = "token-" + tokens.size();
        for (Map.Entry<String, String> known : tokens.entrySet()) {
            if (known.getValue().equals(token)) {
                return known.getKey();
            }
        }
        tokens.put(name, token);
        return name;
    }

    static String literal(String characters) {
        StringBuilder literal = new StringBuilder("\"");
        for (char c : characters.toCharArray()) {
            switch (c) {
                case '"', '\\' -> literal.append('\\').append(c);
                case '\n' -> literal.append("\\n");
                default -> literal.append(c);
            }
        }
        return literal.append('"').toString();
    }

    /** Returns a text as JSON, as a literal. */
    static String quoted(String characters) {
        return literal(JsonText.quoted(characters));
    }

    /** Returns a rule of any text up to a mark, characters or a control token, which ends the text and is a part of it. */
    String until(String mark) {
        return until(mark, "\"\"", false);
    }

    /**
     * Returns a rule as {@link #until(String)} does, with another rule after the mark; with {@code ends}, the text may end without the
     * mark.
     */
    private String until(String mark, String behind, boolean ends) {
        String all = "until-" + rules++ + "-";
        String other = " | " + token(mark) + " " + behind + (ends ? " | \"\"" : "");
        for (int matched = 0; matched < mark.length(); matched++) {
            rule(all + matched, after(mark, matched, all) + other);
        }
        rule(all + mark.length(), behind);
        return all + 0;
    }

    /**
     * Returns the characters that may follow the first characters of a mark, with the number of matching characters afterwards (Knuth,
     * Morris and Pratt 1977).
     */
    private static String after(String mark, int matched, String all) {
        String seen = mark.substring(0, matched);
        StringBuilder body = new StringBuilder();
        StringBuilder listed = new StringBuilder();
        for (String c : mark.split("")) {
            String known = inClass(c);
            if (listed.indexOf(known) < 0) {
                listed.append(known);
                int next = overlap(mark, seen + c);
                body.append(literal(c)).append(' ').append(all).append(next).append(" | ");
            }
        }
        return body.append("[^")
                .append(listed)
                .append("] ")
                .append(all)
                .append(0)
                .toString();
    }

    private static int overlap(String mark, String text) {
        int length = Math.min(mark.length(), text.length());
        while (!text.endsWith(mark.substring(0, length))) {
            length--;
        }
        return length;
    }

    private static String inClass(String c) {
        return switch (c) {
            case "[", "]", "\\" -> "\\" + c;
            case "\n" -> "\\n";
            case "-" -> "\\x2d";
            case "^" -> "\\x5e";
            default -> c;
        };
    }
}

package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Writes values like Python's {@code json.dumps}. Characters of texts keep their writer; characters of JSON syntax belong to the template.
 */
final class JsonText {
    private static final int DEEPEST = 200;

    private final PromptText.Builder to = new PromptText.Builder();
    private final Budget budget;
    private final boolean ascii;
    private final @Nullable PromptText indent;
    private final PromptText comma;
    private final PromptText colon;
    private final boolean sorted;

    private JsonText(
            Budget budget,
            boolean ascii,
            @Nullable PromptText indent,
            PromptText comma,
            PromptText colon,
            boolean sorted) {
        this.budget = budget;
        this.ascii = ascii;
        this.indent = indent;
        this.comma = comma;
        this.colon = colon;
        this.sorted = sorted;
    }

    /**
     * Writes a value with the arguments of {@code tojson}: whether the text is ASCII, the indent, the separators, and whether keys are
     * sorted.
     */
    static PromptText write(Object value, List<Object> arguments, Budget budget) {
        boolean ascii = arguments.get(0) != Special.ABSENT && Values.isTrue(arguments.get(0));
        PromptText indent = indent(arguments.get(1));
        PromptText comma = PromptText.template(indent == null ? ", " : ",");
        PromptText colon = PromptText.template(": ");
        if (arguments.get(2) != Special.ABSENT && arguments.get(2) != Special.NONE) {
            List<Object> separators = Values.elements(arguments.get(2));
            if (separators.size() != 2) {
                throw new Fault("separators of tojson: " + separators.size() + "; expected two");
            }
            comma = Values.text(separators.get(0), budget);
            colon = Values.text(separators.get(1), budget);
        }
        boolean sorted = arguments.get(3) != Special.ABSENT && Values.isTrue(arguments.get(3));
        JsonText json = new JsonText(budget, ascii, indent, comma, colon, sorted);
        json.value(value, 0);
        return json.to.build();
    }

    private static @Nullable PromptText indent(Object argument) {
        return switch (argument) {
            case Long width when width >= 0 && width < 100 -> PromptText.template(" ".repeat(width.intValue()));
            case PromptText text -> text;
            case Special none -> null;
            default ->
                throw new Fault("indent of tojson: " + Values.type(argument) + "; expected an integer below 100");
        };
    }

    private void value(Object value, int depth) {
        if (depth > DEEPEST) {
            throw new Fault("a value nested deeper than " + DEEPEST);
        }
        budget.take(1);
        budget.requireLength(to.length());
        switch (value) {
            case PromptText text -> string(text);
            case Long number -> to.append(Long.toString(number), false);
            case Double number -> to.append(number(number), false);
            case Boolean flag -> to.append(flag ? "true" : "false", false);
            case Special none -> to.append("null", false);
            case Items items
            when items.isSequence() -> {
                to.append("[", false);
                boolean first = true;
                for (Object element : items.elements()) {
                    next(first, depth + 1);
                    value(element, depth + 1);
                    first = false;
                }
                close(first, depth, "]");
            }
            case Dict dict -> object(dict, depth);
            case Undefined undefined -> throw undefined.fault();
            default -> throw new Fault("tojson of " + Values.type(value) + "; expected a value of a JSON type");
        }
    }

    private static String number(double number) {
        return Double.isNaN(number)
                ? "NaN"
                : Double.isInfinite(number) ? number > 0 ? "Infinity" : "-Infinity" : Python.number(number);
    }

    private void object(Dict dict, int depth) {
        to.append("{", false);
        List<Dict.Entry> entries = dict.entries().stream()
                .sorted(sorted ? (a, b) -> Values.compare(a.key(), b.key(), budget) : Comparator.comparing(entry -> 0))
                .toList();
        boolean first = true;
        for (Dict.Entry entry : entries) {
            next(first, depth + 1);
            string(entry.key());
            to.append(colon);
            value(entry.value(), depth + 1);
            first = false;
        }
        close(first, depth, "}");
    }

    private void next(boolean first, int depth) {
        if (!first) {
            to.append(comma);
        }
        line(depth);
    }

    private void close(boolean empty, int depth, String end) {
        if (!empty) {
            line(depth);
        }
        to.append(end, false);
    }

    private void line(int depth) {
        if (indent != null) {
            budget.takeCharacters((long) depth * indent.length());
            to.append("\n", false);
            for (int i = 0; i < depth; i++) {
                to.append(indent);
            }
        }
    }

    private void string(PromptText text) {
        String chars = text.toString();
        budget.takeCharacters(chars.length());
        budget.requireLength(to.length());
        to.append("\"", false);
        int plain = 0;
        for (int i = 0; i < chars.length(); i++) {
            String escaped = escape(chars.charAt(i));
            if (!escaped.isEmpty()) {
                to.append(text.substring(plain, i)).append(escaped, text.isContent(i));
                plain = i + 1;
            }
        }
        to.append(text.substring(plain, chars.length())).append("\"", false);
    }

    /** Returns the escape of a character that must be escaped, otherwise an empty string. */
    private String escape(char c) {
        return switch (c) {
            case '"' -> "\\\"";
            case '\\' -> "\\\\";
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            case '\b' -> "\\b";
            case '\f' -> "\\f";
            default -> c < ' ' || ascii && c > 0x7f ? String.format(Locale.ROOT, "\\u%04x", (int) c) : "";
        };
    }
}

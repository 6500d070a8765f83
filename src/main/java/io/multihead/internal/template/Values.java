package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The values of templates, with Python's types: texts are {@link PromptText}, integers {@link Long}, floats {@link Double}; the others are
 * {@link Boolean}, {@link Special}, {@link Undefined}, {@link Items}, {@link Dict}, {@link Namespace} and {@link Callable}.
 */
final class Values {
    private static final int DEEPEST = 200;

    private Values() {}

    /** Converts a value of a caller: texts are content, unless they are {@link PromptText}. */
    static Object of(@org.jspecify.annotations.Nullable Object value) {
        return switch (value) {
            case null -> Special.NONE;
            case PromptText text -> text;
            case Items items -> items;
            case String text -> PromptText.content(text);
            case Boolean flag -> flag;
            case Integer number -> (long) number;
            case Long number -> number;
            case Double number -> number;
            case List<?> list -> {
                List<Object> elements = new ArrayList<>(list.size());
                list.forEach(element -> elements.add(of(element)));
                yield Items.list(elements);
            }
            case Map<?, ?> map -> {
                Dict dict = new Dict();
                map.forEach((key, member) -> dict.put(key(key), of(member)));
                yield dict;
            }
            default -> throw new Fault("a " + value.getClass().getName() + "; expected a value of a JSON type");
        };
    }

    private static PromptText key(@org.jspecify.annotations.Nullable Object key) {
        return switch (key) {
            case PromptText text -> text;
            case String text -> PromptText.content(text);
            case null, default -> throw new Fault("key " + key + "; expected a text");
        };
    }

    /** Returns Python's name of a value's type. */
    static String type(Object value) {
        return switch (value) {
            case PromptText text -> "a string";
            case Long number -> "an integer";
            case Double number -> "a float";
            case Boolean flag -> "a boolean";
            case Undefined undefined -> "undefined";
            case Dict dict -> "a mapping";
            case Items items ->
                switch (items.kind()) {
                    case LIST -> "a list";
                    case TUPLE -> "a tuple";
                    case VIEW -> "a view";
                    case STREAM -> "the result of a filter";
                };
            case Namespace namespace -> "a namespace";
            case Callable callable -> "a function";
            default -> "none";
        };
    }

    static boolean isTrue(Object value) {
        return switch (value) {
            case PromptText text -> text.length() > 0;
            case Long number -> number != 0;
            case Double number -> number != 0;
            case Boolean flag -> flag;
            case Dict dict -> dict.size() > 0;
            case Items items -> items.isTrue();
            case Undefined undefined -> false;
            case Special none -> false;
            default -> true;
        };
    }

    /** Returns {@code str(value)}. */
    static PromptText text(Object value, Budget budget) {
        if (value instanceof PromptText text) {
            return text;
        }
        if (value instanceof Undefined) {
            return PromptText.template("");
        }
        PromptText.Builder to = new PromptText.Builder();
        represent(value, to, 0, budget);
        return to.build();
    }

    /** Appends {@code repr(value)}. */
    private static void represent(Object value, PromptText.Builder to, int depth, Budget budget) {
        budget.take(1);
        budget.requireLength(to.length());
        if (depth > DEEPEST) {
            throw new Fault("a value nested deeper than " + DEEPEST);
        }
        switch (value) {
            case PromptText text -> quote(text, to, budget);
            case Long number -> to.append(Long.toString(number), false);
            case Double number -> to.append(Python.number(number), false);
            case Boolean flag -> to.append(flag ? "True" : "False", false);
            case Special none -> to.append("None", false);
            case Undefined undefined -> to.append("Undefined", false);
            case Items items
            when items.isSequence() -> {
                boolean tuple = items.kind() == Items.Kind.TUPLE;
                to.append(tuple ? "(" : "[", false);
                String comma = "";
                for (Object element : items.elements()) {
                    to.append(comma, false);
                    represent(element, to, depth + 1, budget);
                    comma = ", ";
                }
                to.append(tuple && items.elements().size() == 1 ? ",)" : tuple ? ")" : "]", false);
            }
            case Dict dict -> {
                to.append("{", false);
                String comma = "";
                for (Dict.Entry entry : dict.entries()) {
                    to.append(comma, false);
                    quote(entry.key(), to, budget);
                    to.append(": ", false);
                    represent(entry.value(), to, depth + 1, budget);
                    comma = ", ";
                }
                to.append("}", false);
            }
            default -> throw new Fault(type(value) + " is printed; expected a text, a number, a list or a mapping");
        }
    }

    /** Appends Python's literal of a text. */
    private static void quote(PromptText text, PromptText.Builder to, Budget budget) {
        budget.takeCharacters(text.length());
        String chars = text.toString();
        String quote = chars.indexOf('\'') >= 0 && chars.indexOf('"') < 0 ? "\"" : "'";
        to.append(quote, false);
        for (int i = 0; i < chars.length(); i++) {
            int c = chars.codePointAt(i);
            boolean content = text.isContent(i);
            i += Character.charCount(c) - 1;
            String escaped =
                    switch (c) {
                        case '\n' -> "\\n";
                        case '\r' -> "\\r";
                        case '\t' -> "\\t";
                        case '\\' -> "\\\\";
                        case '\'' -> quote.equals("'") ? "\\'" : "'";
                        default -> isPrintable(c) ? Character.toString(c) : hexadecimal(c);
                    };
            to.append(escaped, content);
        }
        to.append(quote, false);
    }

    private static String hexadecimal(int c) {
        String form = c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
        return String.format(java.util.Locale.ROOT, form, c);
    }

    private static boolean isPrintable(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> false;
            case Character.SPACE_SEPARATOR -> c == ' ';
            default -> true;
        };
    }

    /** Returns {@code a == b}. */
    static boolean same(Object a, Object b, Budget budget) {
        return same(a, b, 0, budget);
    }

    private static boolean same(Object a, Object b, int depth, Budget budget) {
        budget.take(1);
        if (depth > DEEPEST) {
            throw new Fault("a value nested deeper than " + DEEPEST);
        }
        if (isNumber(a) && isNumber(b)) {
            return a instanceof Double || b instanceof Double ? real(a) == real(b) : whole(a) == whole(b);
        }
        return switch (a) {
            case PromptText text ->
                b instanceof PromptText other && text.toString().equals(other.toString());
            case Undefined undefined -> b instanceof Undefined;
            case Items items ->
                b instanceof Items other
                        && items.kind() == other.kind()
                        && items.isSequence()
                        && sameElements(items.elements(), other.elements(), depth, budget);
            case Dict dict -> b instanceof Dict other && sameEntries(dict, other, depth, budget);
            default -> a.equals(b);
        };
    }

    private static boolean sameElements(List<Object> a, List<Object> b, int depth, Budget budget) {
        boolean equal = a.size() == b.size();
        for (int i = 0; equal && i < a.size(); i++) {
            equal = same(a.get(i), b.get(i), depth + 1, budget);
        }
        return equal;
    }

    private static boolean sameEntries(Dict a, Dict b, int depth, Budget budget) {
        boolean equal = a.size() == b.size();
        for (Dict.Entry entry : a.entries()) {
            Object other = b.find(entry.key().toString());
            equal = equal && other != null && same(entry.value(), other, depth + 1, budget);
        }
        return equal;
    }

    /** Returns whether a value is a number; booleans are numbers. */
    static boolean isNumber(Object value) {
        return value instanceof Long || value instanceof Double || value instanceof Boolean;
    }

    static double real(Object number) {
        return number instanceof Double real ? real : whole(number);
    }

    static long whole(Object number) {
        return number instanceof Boolean flag ? flag ? 1 : 0 : (Long) number;
    }

    /** Returns the order of two numbers, two texts by code points, or two sequences. */
    static int compare(Object a, Object b, Budget budget) {
        if (isNumber(a) && isNumber(b)) {
            return a instanceof Double || b instanceof Double
                    ? Double.compare(real(a), real(b))
                    : Long.compare(whole(a), whole(b));
        }
        if (a instanceof PromptText text && b instanceof PromptText other) {
            budget.takeCharacters(Math.min(text.length(), other.length()));
            return compareCodePoints(text.toString(), other.toString());
        }
        if (a instanceof Undefined undefined) {
            throw undefined.fault();
        }
        if (b instanceof Undefined undefined) {
            throw undefined.fault();
        }
        throw new Fault(type(a) + " compared with " + type(b) + "; expected two numbers or two strings");
    }

    private static int compareCodePoints(String a, String b) {
        int length = Math.min(a.length(), b.length());
        for (int i = 0; i < length; i++) {
            if (a.charAt(i) != b.charAt(i)) {
                return Integer.compare(a.codePointAt(i), b.codePointAt(i));
            }
        }
        return Integer.compare(a.length(), b.length());
    }

    /** Returns the elements of a value that is iterated: code points of a text, keys of a mapping. */
    static List<Object> elements(Object value) {
        return switch (value) {
            case Items items -> items.elements();
            case Dict dict -> dict.keys();
            case PromptText text -> characters(text);
            case Undefined undefined -> List.of();
            default -> throw new Fault(type(value) + " has no elements; expected a list, a mapping or a string");
        };
    }

    /** Returns the code points of a text. */
    static List<Object> characters(PromptText text) {
        List<Object> characters = new ArrayList<>(text.length());
        String chars = text.toString();
        for (int i = 0; i < chars.length(); ) {
            int end = i + Character.charCount(chars.codePointAt(i));
            characters.add(text.substring(i, end));
            i = end;
        }
        return characters;
    }

    /** Returns whether {@code item in value}. */
    static boolean contains(Object value, Object item, Budget budget) {
        return switch (value) {
            case PromptText text -> {
                if (!(item instanceof PromptText part)) {
                    throw new Fault(type(item) + " looked for in a string; expected a string");
                }
                budget.takeCharacters(text.length());
                yield text.toString().contains(part.toString());
            }
            case Dict dict -> item instanceof PromptText key && dict.has(key.toString());
            default -> elements(value).stream().anyMatch(element -> same(element, item, budget));
        };
    }

    /** Returns {@code len(value)}. */
    static long length(Object value) {
        return switch (value) {
            case PromptText text -> text.toString().codePointCount(0, text.length());
            case Items items -> items.sized().size();
            case Dict dict -> dict.size();
            case Undefined undefined -> 0;
            default -> throw new Fault("length of " + type(value) + "; expected a string, a list or a mapping");
        };
    }
}

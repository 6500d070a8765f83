package io.multihead.internal.template;

import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.IntUnaryOperator;
import java.util.function.UnaryOperator;

/** Operations on strings; each character of the result keeps its writer, the template or content. */
final class Texts {
    private static final PromptText EMPTY = PromptText.template("");

    private Texts() {}

    /** Returns a text without certain characters at its ends; without white space if {@code which} is null. */
    static PromptText strip(
            PromptText text, @org.jspecify.annotations.Nullable String which, boolean left, boolean right) {
        String chars = text.toString();
        int from = 0;
        int to = chars.length();
        while (left && from < to && isStripped(chars.charAt(from), which)) {
            from++;
        }
        while (right && to > from && isStripped(chars.charAt(to - 1), which)) {
            to--;
        }
        return text.substring(from, to);
    }

    private static boolean isStripped(char c, @org.jspecify.annotations.Nullable String which) {
        return which == null ? Python.isSpace(c) : which.indexOf(c) >= 0;
    }

    /**
     * Divides a text at a separator, at most {@code most} times, or at all separators if {@code most} is negative; from the end of the text
     * if {@code last}.
     */
    static List<Object> split(PromptText text, PromptText separator, long most, boolean last) {
        String chars = text.toString();
        String between = separator.toString();
        if (between.isEmpty()) {
            throw new Fault("split at an empty string; expected a separator");
        }
        List<Object> parts = new ArrayList<>();
        if (last) {
            int to = chars.length();
            for (int at = chars.lastIndexOf(between); at >= 0 && parts.size() != most; ) {
                parts.addFirst(text.substring(at + between.length(), to));
                to = at;
                at = chars.lastIndexOf(between, to - between.length());
            }
            parts.addFirst(text.substring(0, to));
            return parts;
        }
        int from = 0;
        for (int at = chars.indexOf(between); at >= 0 && parts.size() != most; at = chars.indexOf(between, from)) {
            parts.add(text.substring(from, at));
            from = at + between.length();
        }
        parts.add(text.substring(from, chars.length()));
        return parts;
    }

    /** Divides a text at runs of white space, at most {@code most} times, or at all runs if {@code most} is negative. */
    static List<Object> splitAtSpace(PromptText text, long most) {
        List<Object> parts = new ArrayList<>();
        String chars = text.toString();
        int from = skipSpace(chars, 0);
        while (from < chars.length()) {
            int end = from;
            while (end < chars.length() && !Python.isSpace(chars.charAt(end))) {
                end++;
            }
            end = parts.size() == most ? chars.length() : end;
            parts.add(text.substring(from, end));
            from = skipSpace(chars, end);
        }
        return parts;
    }

    private static int skipSpace(String chars, int from) {
        int at = from;
        while (at < chars.length() && Python.isSpace(chars.charAt(at))) {
            at++;
        }
        return at;
    }

    /** Divides a text into lines, without their ends unless {@code keep}. */
    static List<Object> lines(PromptText text, boolean keep) {
        List<Object> lines = new ArrayList<>();
        String chars = text.toString();
        int from = 0;
        while (from < chars.length()) {
            int end = from;
            while (end < chars.length()
                    && "\n\r\u000b\f\u001c\u001d\u001e\u0085\u2028\u2029".indexOf(chars.charAt(end)) < 0) {
                end++;
            }
            int next = Math.min(chars.length(), chars.startsWith("\r\n", end) ? end + 2 : end + 1);
            lines.add(text.substring(from, keep ? next : end));
            from = next;
        }
        return lines;
    }

    /** Replaces the first {@code most} occurrences of a part, or all occurrences if {@code most} is negative. */
    static PromptText replace(PromptText text, PromptText part, PromptText by, long most, Budget budget) {
        String chars = text.toString();
        String old = part.toString();
        PromptText.Builder result = new PromptText.Builder();
        int from = 0;
        int next = 0; // where the search continues: for an empty part, one character after the last match
        for (long count = 0; count != most; count++) {
            int at = old.isEmpty() && next > chars.length() ? -1 : chars.indexOf(old, next);
            if (at < 0) {
                break;
            }
            result.append(text.substring(from, at)).append(by);
            budget.takeCharacters(by.length());
            budget.requireLength(result.length());
            from = at + old.length();
            next = old.isEmpty() ? at + 1 : from;
        }
        return budget.made(result.append(text.substring(from, chars.length())).build());
    }

    static PromptText repeat(PromptText text, long count, Budget budget) {
        if (count <= 0 || text.length() == 0) {
            return EMPTY;
        }
        budget.takeCharacters(Math.multiplyExact(text.length(), Math.min(count, Integer.MAX_VALUE)));
        PromptText.Builder result = new PromptText.Builder();
        for (long i = 0; i < count; i++) {
            result.append(text);
        }
        return result.build();
    }

    static PromptText upper(PromptText text) {
        return changed(text, chars -> chars.toUpperCase(Locale.ROOT));
    }

    static PromptText lower(PromptText text) {
        return changed(text, chars -> chars.toLowerCase(Locale.ROOT));
    }

    /** Returns a text whose first letter is upper case, and whose others are lower case. */
    static PromptText capitalize(PromptText text) {
        int first = text.length() == 0 ? 0 : text.toString().offsetByCodePoints(0, 1);
        return upper(text.substring(0, first)).plus(lower(text.substring(first, text.length())));
    }

    /** Returns a text whose words begin with upper case letters; words are runs of characters for which {@code continues} is not 0. */
    static PromptText title(PromptText text, IntUnaryOperator continues) {
        PromptText.Builder result = new PromptText.Builder();
        boolean inWord = false;
        for (Object each : Values.characters(text)) {
            PromptText character = (PromptText) each;
            result.append(inWord ? lower(character) : upper(character));
            inWord = continues.applyAsInt(character.toString().codePointAt(0)) != 0;
        }
        return result.build();
    }

    /** Applies a change to each run of characters of one writer, so that the writer of the result is known. */
    private static PromptText changed(PromptText text, UnaryOperator<String> change) {
        PromptText.Builder result = new PromptText.Builder();
        for (int from = 0; from < text.length(); ) {
            boolean content = text.isContent(from);
            int to = from;
            while (to < text.length() && text.isContent(to) == content) {
                to++;
            }
            result.append(change.apply(text.toString().substring(from, to)), content);
            from = to;
        }
        return result.build();
    }

    static PromptText join(List<Object> values, PromptText between, Budget budget) {
        PromptText.Builder result = new PromptText.Builder();
        boolean first = true;
        for (Object value : values) {
            PromptText text = Values.text(value, budget);
            budget.takeCharacters((long) text.length() + between.length());
            budget.requireLength(result.length());
            if (!first) {
                result.append(between);
            }
            result.append(text);
            first = false;
        }
        return result.build();
    }

    /** Indents all lines except the first, or also the first, with or without blank lines. */
    static PromptText indent(PromptText text, PromptText by, boolean first, boolean blank) {
        PromptText.Builder result = new PromptText.Builder();
        boolean begin = true;
        PromptText all = text.plus(PromptText.template("\n"));
        for (Object each : lines(all, false)) {
            PromptText line = (PromptText) each;
            if (!begin) {
                result.append("\n", false);
            }
            if (begin ? first : blank || line.length() > 0) {
                result.append(by);
            }
            result.append(line);
            begin = false;
        }
        return result.build();
    }
}

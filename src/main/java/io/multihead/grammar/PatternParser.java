package io.multihead.grammar;

import io.multihead.internal.base.Checks;

/**
 * Reads regular expressions of ECMA-262 that are regular languages. Back references, lookaround, word boundaries and Unicode properties are
 * refused. Whether a quantifier is greedy does not change the matches.
 */
final class PatternParser {
    private static final CharacterSet DIGITS = CharacterSet.of('0', '9');
    private static final CharacterSet WORD = CharacterSet.of('0', '9', 'A', 'Z', '_', '_', 'a', 'z');
    private static final CharacterSet SPACE = CharacterSet.of(
            0x09, 0x0d, ' ', ' ', 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x202f, 0x205f,
            0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff);
    private static final CharacterSet LINE_ENDS = CharacterSet.of('\n', '\n', '\r', '\r', 0x2028, 0x2029);
    private static final String SYNTAX = "^$\\.*+?()[]{}|/-";
    private static final int MOST_REPEATS = 10_000;
    private static final int HEXADECIMAL = 16;
    private static final int DEEPEST = 200;

    private final String argument;
    private final String text;
    private final Pattern pattern;
    private int at;
    private int depth;

    private PatternParser(String argument, String text) {
        this.argument = argument;
        this.text = text;
        pattern = new Pattern(argument);
    }

    /** Returns the automaton of the texts in which an expression matches. */
    static Dfa parse(String argument, String text) {
        PatternParser parser = new PatternParser(argument, text);
        int from = parser.pattern.state();
        parser.pattern.skip(parser.pattern.start(), from);
        int to = parser.alternatives(from);
        if (parser.at < text.length()) {
            throw parser.fail("a \")\" without \"(\"");
        }
        parser.pattern.skip(to, parser.pattern.end());
        return parser.pattern.determine();
    }

    private IllegalArgumentException fail(String found) {
        return Checks.fail(
                argument, found + " at character " + at + " of " + text, "expected a regular expression of the table");
    }

    private boolean more() {
        return at < text.length();
    }

    private boolean take(String what) {
        if (text.startsWith(what, at)) {
            at += what.length();
            return true;
        }
        return false;
    }

    private int alternatives(int from) {
        depth++;
        if (depth > DEEPEST) {
            throw fail("more than " + DEEPEST + " groups in each other");
        }
        int to = pattern.state();
        do {
            int begin = pattern.state();
            pattern.skip(from, begin);
            pattern.skip(sequence(begin), to);
        } while (take("|"));
        depth--;
        return to;
    }

    private int sequence(int from) {
        int state = from;
        while (more() && text.charAt(at) != '|' && text.charAt(at) != ')') {
            // the states that a quantifier copies begin with a separate state
            int begin = pattern.state();
            pattern.skip(state, begin);
            state = quantified(begin);
        }
        return state;
    }

    private int quantified(int begin) {
        if (take("^")) {
            int to = pattern.state();
            pattern.atBegin(begin, to);
            return to;
        }
        if (take("$")) {
            int to = pattern.state();
            pattern.atEnd(begin, to);
            return to;
        }
        int end = atom(begin);
        int least = 1;
        int most = 1;
        if (take("*")) {
            least = 0;
            most = -1;
        } else if (take("+")) {
            most = -1;
        } else if (take("?")) {
            least = 0;
        } else if (take("{")) {
            least = number();
            most = least;
            if (take(",")) {
                most = text.startsWith("}", at) ? -1 : number();
            }
            if (!take("}") || most >= 0 && most < least) {
                throw fail("a malformed repetition");
            }
        } else {
            return end;
        }
        take("?");
        return repeat(begin, end, least, most);
    }

    private int number() {
        int from = at;
        while (more() && Character.digit(text.charAt(at), 10) >= 0 && at - from < 6) {
            at++;
        }
        if (at == from) {
            throw fail("no number");
        }
        int value = Integer.parseInt(text.substring(from, at));
        if (value > MOST_REPEATS) {
            throw fail("more than " + MOST_REPEATS + " repetitions");
        }
        return value;
    }

    /** Repeats the part from one state to another. This part must have been made last. */
    private int repeat(int begin, int end, int least, int most) {
        int last = pattern.states();
        int copies = Math.max(most < 0 ? least : most, 1);
        int[] begins = new int[copies];
        int[] ends = new int[copies];
        for (int i = 0; i < copies; i++) {
            int shift = i == 0 ? 0 : pattern.copy(begin, last);
            begins[i] = begin + shift;
            ends[i] = end + shift;
        }
        int finish = pattern.state();
        for (int i = 0; i < copies; i++) {
            if (i + 1 < copies) {
                pattern.skip(ends[i], begins[i + 1]);
            }
            if (i + 1 >= least && most != 0) {
                pattern.skip(ends[i], finish);
            }
        }
        if (least == 0) {
            pattern.skip(begin, finish);
        }
        if (most < 0) {
            pattern.skip(ends[copies - 1], begins[copies - 1]);
        }
        return finish;
    }

    private int atom(int from) {
        if (take("(")) {
            if (take("?") && !take(":")) {
                boolean named = take("<") && more() && Character.isLetter(text.charAt(at));
                int close = text.indexOf('>', at);
                if (!named || close < 0) {
                    throw fail("a look around");
                }
                at = close + 1;
            }
            int to = alternatives(from);
            if (!take(")")) {
                throw fail("no \")\"");
            }
            return to;
        }
        int to = pattern.state();
        if (take("[")) {
            pattern.read(from, characterClass(), to);
        } else if (take(".")) {
            pattern.read(from, LINE_ENDS.complement(), to);
        } else {
            pattern.read(from, character(), to);
        }
        return to;
    }

    private CharacterSet character() {
        int codePoint = text.codePointAt(at);
        if (codePoint == '\\') {
            return escape(false);
        }
        if (codePoint != '-' && codePoint != '/' && SYNTAX.indexOf(codePoint) >= 0) {
            throw fail("\"" + Character.toString(codePoint) + "\" that repeats or ends nothing");
        }
        at += Character.charCount(codePoint);
        return CharacterSet.of(codePoint, codePoint);
    }

    private CharacterSet characterClass() {
        boolean negated = take("^");
        CharacterSet set = new CharacterSet();
        while (!take("]")) {
            if (!more()) {
                throw fail("no \"]\"");
            }
            CharacterSet low = classPart();
            boolean range = at + 1 < text.length() && text.charAt(at) == '-' && text.charAt(at + 1) != ']';
            if (range) {
                at++;
                CharacterSet high = classPart();
                if (single(low) > single(high)) {
                    throw fail("a range whose end is before its begin");
                }
                set.add(single(low), single(high));
            } else {
                set.addAll(low);
            }
        }
        return negated ? set.complement() : set;
    }

    private CharacterSet classPart() {
        if (!more()) {
            throw fail("no \"]\"");
        }
        if (text.charAt(at) == '\\') {
            return escape(true);
        }
        int codePoint = text.codePointAt(at);
        at += Character.charCount(codePoint);
        return CharacterSet.of(codePoint, codePoint);
    }

    private int single(CharacterSet set) {
        var range = set.ranges().entrySet().iterator().next();
        if (set.ranges().size() > 1 || !range.getKey().equals(range.getValue())) {
            throw fail("a range from or to a class");
        }
        return range.getKey();
    }

    private CharacterSet escape(boolean inClass) {
        at++;
        if (!more()) {
            throw fail("a backslash at the end");
        }
        char c = text.charAt(at++);
        return switch (c) {
            case 'd' -> DIGITS;
            case 'D' -> DIGITS.complement();
            case 'w' -> WORD;
            case 'W' -> WORD.complement();
            case 's' -> SPACE;
            case 'S' -> SPACE.complement();
            case 't' -> CharacterSet.of('\t', '\t');
            case 'n' -> CharacterSet.of('\n', '\n');
            case 'r' -> CharacterSet.of('\r', '\r');
            case 'f' -> CharacterSet.of('\f', '\f');
            case 'v' -> CharacterSet.of(0x0b, 0x0b);
            case 'x' -> hexadecimal(2);
            case 'u' -> take("{") ? braced() : pair();
            default -> {
                boolean null0 = c == '0' && !(more() && Character.isDigit(text.charAt(at)));
                boolean backspace = c == 'b' && inClass;
                if (!null0 && !backspace && SYNTAX.indexOf(c) < 0) {
                    at--;
                    throw fail("the escape \\" + c);
                }
                int codePoint = null0 ? 0 : backspace ? '\b' : c;
                yield CharacterSet.of(codePoint, codePoint);
            }
        };
    }

    private CharacterSet hexadecimal(int digits) {
        int end = at + digits;
        int value = 0;
        for (; at < end; at++) {
            int digit = more() ? Character.digit(text.charAt(at), HEXADECIMAL) : -1;
            if (digit < 0) {
                throw fail("an escape without its digits");
            }
            value = HEXADECIMAL * value + digit;
        }
        return CharacterSet.of(value, value);
    }

    /** Reads a code unit, and the low surrogate after a high surrogate. */
    private CharacterSet pair() {
        int high = single(hexadecimal(4));
        if (high < Character.MIN_SURROGATE || high > Character.MAX_SURROGATE) {
            return CharacterSet.of(high, high);
        }
        if (!Character.isHighSurrogate((char) high) || !take("\\u")) {
            throw fail("half a surrogate pair");
        }
        int low = single(hexadecimal(4));
        if (!Character.isLowSurrogate((char) low)) {
            throw fail("half a surrogate pair");
        }
        int codePoint = Character.toCodePoint((char) high, (char) low);
        return CharacterSet.of(codePoint, codePoint);
    }

    private CharacterSet braced() {
        int close = text.indexOf('}', at);
        if (close < 0 || close - at > 6 || close == at) {
            throw fail("an escape without its digits");
        }
        CharacterSet set = hexadecimal(close - at);
        at++;
        if (single(set) > Dfa.LARGEST) {
            throw fail("an escape that is not a character");
        }
        return set;
    }
}

package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads GBNF, the notation of llama.cpp: rules of literals, classes of characters, names, groups and repetitions. Names of tokens in angle
 * brackets are refused.
 */
final class Gbnf {
    private static final int MOST_REPEATS = 10_000;
    private static final int DEEPEST = 200;
    private static final int HEXADECIMAL = 16;
    private static final CharacterSet PLAIN = CharacterSet.of(' ', '!', '#', '[', ']', Dfa.LARGEST);

    /** The states of one element; {@code set} is the class of characters, if the element is a class. */
    private record Part(int begin, int end, @Nullable CharacterSet set) {}

    private final Machine machine;
    private final Utf8Moves utf8;
    private final String text;
    private final Map<String, Integer> rules = new LinkedHashMap<>();
    private final Set<String> defined = new HashSet<>();
    private int at;
    private int depth;

    private Gbnf(Machine machine, String text) {
        this.machine = machine;
        utf8 = new Utf8Moves(machine);
        this.text = text;
    }

    /** Sources of rules in addition to a text, by the names of the rules, as in {@link Grammar#ofGbnf(String, Map, Map, Map)}. */
    record Sources(Map<String, String> schemas, Map<String, String> tokens, Map<String, String> stringMarks) {}

    /** Adds the rules of a text to a machine, after the rules of other sources. Returns the first state of {@code root}. */
    static int compile(Machine machine, String text, Sources sources) {
        Gbnf gbnf = new Gbnf(machine, text);
        sources.schemas.forEach((name, schema) -> gbnf.schema(name, schema, sources.stringMarks.get(name)));
        sources.tokens.forEach(gbnf::token);
        gbnf.space(true);
        while (gbnf.at < text.length()) {
            gbnf.rule();
        }
        for (String name : gbnf.rules.keySet()) {
            if (!gbnf.defined.contains(name)) {
                throw Checks.fail("grammar", "no rule " + name, "expected one, since another rule names it");
            }
        }
        Integer root = gbnf.rules.get("root");
        if (root == null) {
            throw Checks.fail("grammar", "no rule root", "expected one, with which texts begin");
        }
        return root;
    }

    private IllegalArgumentException fail(String expected) {
        long line = text.substring(0, at).lines().count();
        String found = at < text.length() ? "\"" + Character.toString(text.codePointAt(at)) + "\"" : "the end";
        return Checks.fail(
                "grammar", found + " in line " + Math.max(line, 1) + " at character " + at, "expected " + expected);
    }

    private char peek() {
        return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean take(char c) {
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    /** Skips white space and comments. */
    private void space(boolean lines) {
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == '#') {
                while (at < text.length() && text.charAt(at) != '\n') {
                    at++;
                }
            } else if (c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r')) {
                at++;
            } else {
                return;
            }
        }
    }

    private String name() {
        int from = at;
        while (at < text.length()
                && (Character.isLetterOrDigit(text.charAt(at)) || "-_".indexOf(text.charAt(at)) >= 0)) {
            at++;
        }
        if (at == from) {
            throw fail("a name");
        }
        return text.substring(from, at);
    }

    private int start(String name) {
        return rules.computeIfAbsent(name, key -> machine.state());
    }

    private void schema(String name, String schema, @Nullable String mark) {
        Notation notation = mark == null ? new JsonStrings(machine) : new MarkedStrings(machine, mark);
        int start = Checks.in(name, () -> SchemaCompiler.compile(notation, name + ": ", SchemaNode.root(schema)));
        rules.put(name, start);
        defined.add(name);
    }

    private void token(String name, String token) {
        int end = machine.state();
        machine.setEnd(end);
        machine.token(start(name), token, end);
        if (!defined.add(name)) {
            throw Checks.fail("grammar", "two rules " + name, "expected one");
        }
    }

    private void rule() {
        String name = name();
        space(false);
        if (!text.startsWith("::=", at)) {
            throw fail("::=");
        }
        at += "::=".length();
        if (!defined.add(name)) {
            throw Checks.fail("grammar", "two rules " + name, "expected one");
        }
        space(true);
        int end = machine.state();
        machine.setEnd(end);
        alternatives(start(name), end, false);
        space(false);
        if (at < text.length() && peek() != '\n' && peek() != '\r') {
            throw fail("the end of the rule");
        }
        space(true);
    }

    private void alternatives(int from, int to, boolean nested) {
        depth++;
        if (depth > DEEPEST) {
            throw fail("at most " + DEEPEST + " groups in each other");
        }
        while (true) {
            machine.skip(sequence(from, nested), to);
            int back = at;
            space(true);
            if (!take('|')) {
                at = nested ? at : back;
                break;
            }
            space(true);
        }
        depth--;
    }

    private int sequence(int from, boolean nested) {
        int state = machine.state();
        machine.skip(from, state);
        while (true) {
            space(nested);
            char c = peek();
            if (c == 0 || c == '|' || c == ')' || c == '\n' || c == '\r') {
                return state;
            }
            Part part = element();
            state = repeated(state, part);
        }
    }

    private Part element() {
        int begin = machine.state();
        if (take('"')) {
            StringBuilder literal = new StringBuilder();
            while (!take('"')) {
                literal.appendCodePoint(character("a literal's end"));
            }
            return new Part(begin, machine.read(begin, literal.toString().getBytes(StandardCharsets.UTF_8)), null);
        }
        int end = machine.state();
        CharacterSet set = null;
        if (take('[')) {
            set = characterClass();
        } else if (take('.')) {
            set = CharacterSet.of(0, Dfa.LARGEST);
        } else if (take('(')) {
            alternatives(begin, end, true);
            if (!take(')')) {
                throw fail("\")\"");
            }
        } else {
            machine.call(begin, start(name()), end);
        }
        if (set != null) {
            set.ranges().forEach((low, high) -> utf8.read(begin, low, high, end));
        }
        return new Part(begin, end, set);
    }

    private CharacterSet characterClass() {
        boolean negated = take('^');
        CharacterSet set = new CharacterSet();
        while (!take(']')) {
            int low = character("\"]\"");
            int high = low;
            if (peek() == '-' && at + 1 < text.length() && text.charAt(at + 1) != ']') {
                at++;
                high = character("\"]\"");
            }
            if (high < low) {
                throw fail("a range whose end is not before its begin");
            }
            set.add(low, high);
        }
        return negated ? set.complement() : set;
    }

    private int character(String expected) {
        if (at >= text.length()) {
            throw fail(expected);
        }
        int codePoint = text.codePointAt(at);
        at += Character.charCount(codePoint);
        if (codePoint != '\\') {
            return codePoint;
        }
        char c = peek();
        at++;
        return switch (c) {
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case '"', '\\', '[', ']' -> c;
            case 'x' -> hexadecimal(2);
            case 'u' -> hexadecimal(4);
            case 'U' -> hexadecimal(8);
            default -> {
                at--;
                throw fail("an escape of GBNF");
            }
        };
    }

    private int hexadecimal(int digits) {
        int value = 0;
        for (int i = 0; i < digits; i++) {
            int digit = Character.digit(peek(), HEXADECIMAL);
            if (digit < 0 || value > Dfa.LARGEST) {
                throw fail(digits + " hexadecimal digits of a character");
            }
            value = HEXADECIMAL * value + digit;
            at++;
        }
        boolean surrogate = value >= Character.MIN_SURROGATE && value <= Character.MAX_SURROGATE;
        if (value > Dfa.LARGEST || surrogate) {
            throw fail("a character of Unicode");
        }
        return value;
    }

    /**
     * Appends an element to a state, with the repetition of the operator that follows the element. Returns the state after the repetition.
     */
    private int repeated(int from, Part part) {
        int least = 1;
        int most = 1;
        if (take('*')) {
            least = 0;
            most = -1;
        } else if (take('+')) {
            most = -1;
        } else if (take('?')) {
            least = 0;
        } else if (take('{')) {
            least = number();
            space(true);
            most = least;
            if (take(',')) {
                space(true);
                most = peek() == '}' ? -1 : number();
                space(true);
            }
            if (!take('}') || most >= 0 && most < least) {
                throw fail("a repetition as {2,3}");
            }
        } else {
            machine.skip(from, part.begin);
            return part.end;
        }
        machine.setEnd(part.end);
        return repeat(from, part, least, most);
    }

    private int repeat(int from, Part part, int least, int most) {
        int state = from;
        int finish = machine.state();
        for (int i = 0; i < Math.max(least, most); i++) {
            if (i >= least) {
                machine.skip(state, finish);
            }
            int next = machine.state();
            machine.call(state, part.begin, next);
            state = next;
        }
        if (most < 0) {
            int loop = machine.state();
            machine.skip(state, loop);
            machine.call(loop, part.begin, loop);
            boolean plain = part.set != null && part.set.containsAll(PLAIN);
            machine.setPlain(loop, plain ? Machine.ANY_LENGTH : 0);
            state = loop;
        }
        machine.skip(state, finish);
        return finish;
    }

    private int number() {
        int from = at;
        while (Character.digit(peek(), 10) >= 0 && at - from < 6) {
            at++;
        }
        if (at == from) {
            throw fail("a number");
        }
        int value = Integer.parseInt(text.substring(from, at));
        if (value > MOST_REPEATS) {
            at = from;
            throw fail("at most " + MOST_REPEATS + " repetitions");
        }
        return value;
    }
}

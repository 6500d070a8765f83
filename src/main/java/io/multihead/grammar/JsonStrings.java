package io.multihead.grammar;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/**
 * The notation of JSON, with strings in quotes. A string that a schema does not restrict may contain every escape of RFC 8259, with
 * surrogates in pairs. Strings with a pattern, names and given values contain only necessary escapes. White space is empty, a space, or a
 * line feed with an indentation of at most {@link #MOST_INDENT} spaces.
 */
final class JsonStrings extends Notation {
    private static final int MOST_INDENT = 20;
    private static final int CONTROLS = 0x20;
    private static final String SHORT = "\b\t\n\f\r\"\\";
    private static final String LETTERS = "btnfr\"\\";

    private final Utf8Moves utf8;
    private int character = Machine.NONE;

    JsonStrings(Machine machine) {
        super(machine, space(machine));
        utf8 = new Utf8Moves(machine);
    }

    private static int space(Machine machine) {
        int space = machine.state();
        machine.setEnd(space);
        int end = machine.state();
        machine.setEnd(end);
        machine.read(space, ' ', ' ', end);
        int at = machine.state();
        machine.read(space, '\n', '\n', at);
        machine.setEnd(at);
        for (int i = 0; i < MOST_INDENT; i++) {
            int next = machine.state();
            machine.read(at, ' ', ' ', next);
            machine.setEnd(next);
            at = next;
        }
        return space;
    }

    @Override
    int begin(int from) {
        int to = machine.state();
        machine.read(from, '"', '"', to);
        return to;
    }

    @Override
    void end(int from, int to) {
        machine.read(from, '"', '"', to);
    }

    @Override
    byte[] characters(String path, String text) {
        StringBuilder result = new StringBuilder();
        text.codePoints().forEach(codePoint -> result.append(escaped(codePoint)));
        return result.toString().getBytes(StandardCharsets.UTF_8);
    }

    @Override
    int name(String path, int from, String name) {
        int behind = machine.state();
        end(machine.read(begin(from), characters(path, name)), behind);
        return behind;
    }

    @Override
    void names(String path, int from, Dfa dfa, int to) {
        matching(path, from, dfa, to);
    }

    @Override
    List<String> ordered(Collection<String> names) {
        return List.copyOf(names);
    }

    @Override
    List<String> nulls() {
        return List.of("null");
    }

    private static String escaped(int codePoint) {
        int at = codePoint <= '\\' ? SHORT.indexOf(codePoint) : -1;
        if (at >= 0) {
            return "\\" + LETTERS.charAt(at);
        }
        return codePoint < CONTROLS ? String.format(Locale.ROOT, "\\u%04x", codePoint) : Character.toString(codePoint);
    }

    @Override
    void free(String path, int from, int least, int most, int to) {
        int at = begin(from);
        int count = Math.max(least, most);
        for (int length = 0; length < count; length++) {
            int next = machine.state();
            if (length >= least) {
                machine.read(at, '"', '"', to);
            }
            machine.setPlain(at, most < 0 ? Machine.ANY_LENGTH : most - length);
            machine.call(at, character(), next);
            at = next;
        }
        machine.read(at, '"', '"', to);
        if (most < 0) {
            machine.setPlain(at, Machine.ANY_LENGTH);
            addCharacter(at, at);
        }
    }

    private int character() {
        if (character == Machine.NONE) {
            character = machine.state();
            int end = machine.state();
            machine.setEnd(end);
            addCharacter(character, end);
        }
        return character;
    }

    private void addCharacter(int from, int to) {
        plain(from, CONTROLS, Dfa.LARGEST, to);
        int escape = machine.state();
        machine.read(from, '\\', '\\', escape);
        for (char letter : (LETTERS + "/").toCharArray()) {
            machine.read(escape, letter, letter, to);
        }
        int unit = machine.state();
        machine.read(escape, 'u', 'u', unit);
        surrogates(unit, to);
    }

    /** Reads the four digits of an escape. A low surrogate must follow a high surrogate. */
    private void surrogates(int unit, int to) {
        int three = machine.state();
        int two = machine.state();
        int one = machine.state();
        digit(two, one);
        digit(three, two);
        digit(one, to);
        for (char first : "0123456789abcefABCEF".toCharArray()) {
            machine.read(unit, first, first, three);
        }
        int behindD = machine.state();
        machine.read(unit, 'd', 'd', behindD);
        machine.read(unit, 'D', 'D', behindD);
        machine.read(behindD, '0', '7', two);
        int high = machine.state();
        for (char second : "89abAB".toCharArray()) {
            machine.read(behindD, second, second, high);
        }
        int highLast = machine.state();
        digit(high, highLast);
        int escape = machine.state();
        digit(highLast, escape);
        int low = machine.read(escape, "\\u".getBytes(StandardCharsets.US_ASCII));
        int lowD = machine.state();
        machine.read(low, 'd', 'd', lowD);
        machine.read(low, 'D', 'D', lowD);
        for (char second : "cdefCDEF".toCharArray()) {
            machine.read(lowD, second, second, two);
        }
    }

    private void digit(int from, int to) {
        machine.read(from, '0', '9', to);
        machine.read(from, 'a', 'f', to);
        machine.read(from, 'A', 'F', to);
    }

    /** Reads those code points of a range that need no escape. */
    private void plain(int from, int low, int high, int to) {
        int at = Math.max(low, CONTROLS);
        for (int special : new int[] {'"', '\\'}) {
            if (at <= special && special <= high) {
                if (at < special) {
                    utf8.read(from, at, special - 1, to);
                }
                at = special + 1;
            }
        }
        if (at <= high) {
            utf8.read(from, at, high, to);
        }
    }

    @Override
    void matching(String path, int from, Dfa dfa, int to) {
        machine.read(from, '"', '"', add(dfa, state -> end(state, to)));
    }

    @Override
    void move(int from, Dfa.Move move, int to) {
        plain(from, move.low(), move.high(), to);
        if (to == from && move.low() <= CONTROLS && move.high() == Dfa.LARGEST) {
            machine.setPlain(from, Machine.ANY_LENGTH);
        }
        for (int special = 0; special <= '\\'; special++) {
            boolean inside = move.low() <= special && special <= move.high();
            if (inside && (special < CONTROLS || special == '"' || special == '\\')) {
                int end = machine.read(from, escaped(special).getBytes(StandardCharsets.US_ASCII));
                machine.skip(end, to);
            }
        }
    }
}

package io.multihead.grammar;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Strings of JSON as parts of a machine. One that a schema leaves free may have every escape of RFC 8259, surrogates in pairs; one with a
 * pattern, a name or a given value has escapes where it must alone.
 */
final class JsonStrings {
    private static final int CONTROLS = 0x20;
    private static final String SHORT = "\b\t\n\f\r\"\\";
    private static final String LETTERS = "btnfr\"\\";
    /** Longest given limit of a length: each character is a state. */
    static final int MOST_LENGTH = 50_000;

    private final Machine machine;
    private final Utf8Moves utf8;
    private int character = Machine.NONE;

    JsonStrings(Machine machine) {
        this.machine = machine;
        utf8 = new Utf8Moves(machine);
    }

    /** Returns a string in quotes with escapes where it must have them. */
    static byte[] quoted(String text) {
        StringBuilder result = new StringBuilder("\"");
        text.codePoints().forEach(codePoint -> result.append(escaped(codePoint)));
        return result.append('"').toString().getBytes(StandardCharsets.UTF_8);
    }

    private static String escaped(int codePoint) {
        int at = codePoint <= '\\' ? SHORT.indexOf(codePoint) : -1;
        if (at >= 0) {
            return "\\" + LETTERS.charAt(at);
        }
        return codePoint < CONTROLS ? String.format(Locale.ROOT, "\\u%04x", codePoint) : Character.toString(codePoint);
    }

    /** Reads a free string of so many characters, without limit if {@code most} is -1, with its quotes. */
    void free(int from, int least, int most, int to) {
        int at = machine.state();
        machine.read(from, '"', '"', at);
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

    /** Reads the four digits of an escape; those of a high surrogate are followed by a low one. */
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

    /** Reads a code point of a range that needs no escape. */
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

    /** Reads a string in quotes whose value an automaton accepts. */
    void matching(int from, Dfa dfa, int to) {
        int[] states = new int[dfa.states()];
        for (int i = 0; i < states.length; i++) {
            states[i] = machine.state();
        }
        machine.read(from, '"', '"', states[0]);
        for (int i = 0; i < states.length; i++) {
            for (Dfa.Move move : dfa.moves(i)) {
                read(states[i], move, states[move.to()]);
                if (move.to() == i && move.low() <= CONTROLS && move.high() == Dfa.LARGEST) {
                    machine.setPlain(states[i], Machine.ANY_LENGTH);
                }
            }
            if (dfa.accepts(i)) {
                machine.read(states[i], '"', '"', to);
            }
        }
    }

    private void read(int from, Dfa.Move move, int to) {
        plain(from, move.low(), move.high(), to);
        for (int special = 0; special <= '\\'; special++) {
            boolean inside = move.low() <= special && special <= move.high();
            if (inside && (special < CONTROLS || special == '"' || special == '\\')) {
                int end = machine.read(from, escaped(special).getBytes(StandardCharsets.US_ASCII));
                machine.skip(end, to);
            }
        }
    }
}

package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The notation in which Gemma's templates write the arguments of calls. Strings are between two equal marks and have no escapes. A string
 * never contains the mark, which would end the string. Names have no marks, and their order is the order of Jinja's {@code dictsort}. Null
 * may also be written as in Python. There is no white space outside strings.
 */
final class MarkedStrings extends Notation {
    private static final String NAME = "^[^\\s:,}<]+$";

    private final String mark;
    private final Utf8Moves utf8;
    /** The rule of the mark. */
    private final int markRule;
    /** The strings that end at the next mark. */
    private final Dfa strings;

    private final Dfa names;

    MarkedStrings(Machine machine, String mark) {
        super(machine, machine.state());
        this.mark = mark;
        utf8 = new Utf8Moves(machine);
        machine.setEnd(space);
        markRule = machine.state();
        int end = machine.state();
        machine.setEnd(end);
        machine.token(markRule, mark, end);
        strings = before(mark);
        names = PatternParser.parse("names", NAME);
    }

    /**
     * Returns the automaton of the texts that end at the next mark. If the mark is appended to such a text, its first occurrence is at the
     * end.
     */
    private static Dfa before(String mark) {
        // a state is the longest prefix of the mark that is a suffix of the text so far
        Dfa.Rules<String> rules = new Dfa.Rules<>() {
            @Override
            public @Nullable String next(String state, int codePoint) {
                String seen = state + Character.toString(codePoint);
                while (!mark.startsWith(seen)) {
                    seen = seen.substring(1);
                }
                return seen.equals(mark) ? null : seen;
            }

            @Override
            public void borders(String state, TreeSet<Integer> borders) {
                mark.codePoints().forEach(codePoint -> {
                    borders.add(codePoint);
                    borders.add(codePoint + 1);
                });
            }
        };
        return Dfa.explore("stringMarks", "", rules, state -> (state + mark).indexOf(mark) == state.length());
    }

    @Override
    int begin(int from) {
        int to = machine.state();
        machine.call(from, markRule, to);
        return to;
    }

    @Override
    void end(int from, int to) {
        machine.call(from, markRule, to);
    }

    @Override
    byte[] characters(String path, String text) {
        if (!strings.matches(text)) {
            throw Checks.fail(
                    path, text, "expected a text without " + mark + ", which ends texts in calls of this model");
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    void free(String path, int from, int least, int most, int to) {
        matching(path, from, Dfa.lengths(path, least, most), to);
    }

    @Override
    void matching(String path, int from, Dfa dfa, int to) {
        int behind = machine.state();
        end(behind, to);
        machine.skip(begin(from), add(dfa.and(path, strings), state -> machine.skip(state, behind)));
    }

    @Override
    int name(String path, int from, String name) {
        if (!names.matches(name)) {
            throw Checks.fail(
                    path,
                    "a name \"" + name + "\"",
                    "expected one or more characters, none of them white space, colon, comma, } or <, "
                            + "as calls of this model write names without quotes");
        }
        return machine.read(from, name.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    void names(String path, int from, Dfa dfa, int to) {
        machine.skip(from, add(dfa.and(path, names), state -> machine.skip(state, to)));
    }

    @Override
    void move(int from, Dfa.Move move, int to) {
        utf8.read(from, move.low(), move.high(), to);
    }

    @Override
    List<String> ordered(Collection<String> of) {
        return of.stream()
                .sorted(Comparator.comparing(name -> name.toLowerCase(Locale.ROOT)))
                .toList();
    }

    @Override
    List<String> nulls() {
        return List.of("null", "None");
    }
}

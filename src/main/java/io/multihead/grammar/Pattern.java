package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A regular expression as a nondeterministic automaton (Thompson 1968). {@link #determine} converts it to a deterministic automaton, whose
 * states are sets of states. The expression may match anywhere in a text, as JSON Schema requires.
 */
final class Pattern {
    private static final int MOST_STATES = 20_000;
    /** The largest number of states in all sets together. */
    private static final long MOST_WORK = 20_000_000;

    /**
     * A move that reads a code point of a set, or reads nothing if the set is null. A condition restricts the move to the beginning or the
     * end of the text.
     */
    private record Move(@Nullable CharacterSet set, Condition condition, int to) {}

    private enum Condition {
        NONE,
        BEGIN,
        END
    }

    /** The states after the same text. */
    private record Places(BitSet states, boolean begin) {}

    private final String argument;
    private final List<List<Move>> moves = new ArrayList<>();
    private final int end;
    private long work;

    /** Begins an expression with a state that is active after every text, and a state that records a match. */
    Pattern(String argument) {
        this.argument = argument;
        state();
        end = state();
        CharacterSet all = CharacterSet.of(0, Dfa.LARGEST);
        read(0, all, 0);
        read(end, all, end);
    }

    int start() {
        return 0;
    }

    int end() {
        return end;
    }

    int states() {
        return moves.size();
    }

    int state() {
        if (moves.size() == MOST_STATES) {
            throw Checks.fail(argument, "more than " + MOST_STATES + " states", "expected a smaller pattern");
        }
        moves.add(new ArrayList<>());
        return moves.size() - 1;
    }

    void read(int from, CharacterSet set, int to) {
        moves.get(from).add(new Move(set, Condition.NONE, to));
    }

    void skip(int from, int to) {
        moves.get(from).add(new Move(null, Condition.NONE, to));
    }

    void atBegin(int from, int to) {
        moves.get(from).add(new Move(null, Condition.BEGIN, to));
    }

    void atEnd(int from, int to) {
        moves.get(from).add(new Move(null, Condition.END, to));
    }

    /**
     * Copies the states from {@code first} to before {@code last}, whose moves stay among these states. Returns the offset of the numbers
     * of the copies.
     */
    int copy(int first, int last) {
        int shift = moves.size() - first;
        for (int from = first; from < last; from++) {
            state();
        }
        for (int from = first; from < last; from++) {
            for (Move move : List.copyOf(moves.get(from))) {
                moves.get(from + shift).add(new Move(move.set, move.condition, move.to + shift));
            }
        }
        return shift;
    }

    /** Returns the deterministic automaton. */
    Dfa determine() {
        BitSet first = new BitSet();
        first.set(0);
        Dfa.Rules<Places> rules = new Dfa.Rules<>() {
            @Override
            public @Nullable Places next(Places state, int codePoint) {
                BitSet to = new BitSet();
                state.states.stream().forEach(from -> {
                    for (Move move : moves.get(from)) {
                        if (move.set != null && move.set.contains(codePoint)) {
                            to.set(move.to);
                        }
                    }
                });
                return to.isEmpty() ? null : new Places(closed(to, false, false), false);
            }

            @Override
            public void borders(Places state, TreeSet<Integer> borders) {
                state.states.stream().forEach(from -> {
                    for (Move move : moves.get(from)) {
                        if (move.set != null) {
                            move.set.ranges().forEach((low, high) -> {
                                borders.add(low);
                                borders.add(high + 1);
                            });
                        }
                    }
                });
            }
        };
        Places start = new Places(closed(first, true, false), true);
        return Dfa.explore(argument, start, rules, places -> closed(places.states, places.begin, true)
                .get(end));
    }

    /** Returns all states that can be reached without reading. After a match, only the state of the match remains. */
    private BitSet closed(BitSet from, boolean begin, boolean atEnd) {
        BitSet reached = (BitSet) from.clone();
        ArrayList<Integer> waiting = new ArrayList<>();
        from.stream().forEach(waiting::add);
        while (!waiting.isEmpty()) {
            int state = waiting.remove(waiting.size() - 1);
            for (Move move : moves.get(state)) {
                boolean holds = move.condition == Condition.NONE
                        || move.condition == Condition.BEGIN && begin
                        || move.condition == Condition.END && atEnd;
                if (move.set == null && holds && !reached.get(move.to)) {
                    reached.set(move.to);
                    waiting.add(move.to);
                }
            }
        }
        work += reached.cardinality();
        if (work > MOST_WORK) {
            throw Checks.fail(argument, "more than " + MOST_WORK + " steps", "expected a simpler pattern");
        }
        if (reached.get(end)) {
            reached.clear();
            reached.set(end);
        }
        return reached;
    }
}

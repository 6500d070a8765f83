package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A deterministic finite automaton over code points, which begins in state 0. A code point without a move is not accepted. */
final class Dfa {
    static final int MOST_STATES = 20_000;
    /** The largest number of moves of all states. Each move becomes moves of a machine over bytes. */
    private static final int MOST_MOVES = 200_000;

    static final int LARGEST = Character.MAX_CODE_POINT;
    private static final int DEAD = -1;

    /** A move for the code points from {@code low} to {@code high}. */
    record Move(int low, int high, int to) {}

    /** A state of one automaton and a state of another automaton. */
    private record Pair(int left, int right) {}

    /** The transitions of states. The successor is the same for all code points from one of the {@link #borders} to the next. */
    interface Rules<S> {
        /** Returns the state after a code point; null if there is none. */
        @Nullable
        S next(S state, int codePoint);

        /** Adds each code point whose successor may differ from the successor of the previous code point. */
        void borders(S state, TreeSet<Integer> borders);
    }

    private final List<List<Move>> moves = new ArrayList<>();
    private final List<Boolean> accepts = new ArrayList<>();

    private Dfa() {}

    int states() {
        return moves.size();
    }

    List<Move> moves(int state) {
        return moves.get(state);
    }

    boolean accepts(int state) {
        return accepts.get(state);
    }

    /** Returns the state after a code point, or -1. */
    int next(int state, int codePoint) {
        if (state != DEAD) {
            for (Move move : moves.get(state)) {
                if (move.low <= codePoint && codePoint <= move.high) {
                    return move.to;
                }
            }
        }
        return DEAD;
    }

    boolean matches(String text) {
        int state = 0;
        for (int codePoint : text.codePoints().toArray()) {
            state = next(state, codePoint);
        }
        return state != DEAD && accepts.get(state);
    }

    /**
     * Builds the automaton of all states that can be reached from one state. If there are too many states, the error names {@code
     * argument}.
     */
    static <S> Dfa explore(String argument, S start, Rules<S> rules, Predicate<S> accepted) {
        Dfa dfa = new Dfa();
        Map<S, Integer> ids = new HashMap<>();
        List<S> found = new ArrayList<>();
        ids.put(start, 0);
        found.add(start);
        int count = 0;
        for (int at = 0; at < found.size(); at++) {
            S state = found.get(at);
            TreeSet<Integer> borders = new TreeSet<>();
            borders.add(0);
            rules.borders(state, borders);
            List<Move> list = new ArrayList<>();
            for (int low : borders) {
                if (low > LARGEST) {
                    break;
                }
                Integer next = borders.higher(low);
                int high = next == null ? LARGEST : next - 1;
                S to = rules.next(state, low);
                if (to == null) {
                    continue;
                }
                Integer id = ids.putIfAbsent(to, found.size());
                if (id == null) {
                    id = found.size();
                    found.add(to);
                }
                append(list, low, high, id);
            }
            dfa.moves.add(list);
            dfa.accepts.add(accepted.test(state));
            count += list.size();
            if (found.size() > MOST_STATES || count > MOST_MOVES) {
                throw Checks.fail(
                        argument,
                        "an automaton of more than " + MOST_STATES + " states or " + MOST_MOVES + " moves",
                        "expected a smaller one");
            }
        }
        return dfa;
    }

    private static void append(List<Move> list, int low, int high, int to) {
        int last = list.size() - 1;
        boolean longer = last >= 0 && list.get(last).to == to && list.get(last).high == low - 1;
        if (longer) {
            list.set(last, new Move(list.get(last).low, high, to));
        } else {
            list.add(new Move(low, high, to));
        }
    }

    private void addBorders(int state, TreeSet<Integer> borders) {
        if (state != DEAD) {
            for (Move move : moves.get(state)) {
                borders.add(move.low);
                borders.add(move.high + 1);
            }
        }
    }

    /** Returns the automaton of texts that both automata accept. */
    Dfa and(String argument, Dfa other) {
        return combine(argument, other, true);
    }

    /** Returns the automaton of texts that this automaton accepts and the other automaton does not. */
    Dfa minus(String argument, Dfa other) {
        return combine(argument, other, false);
    }

    private Dfa combine(String argument, Dfa other, boolean both) {
        Rules<Pair> rules = new Rules<>() {
            @Override
            public @Nullable Pair next(Pair state, int codePoint) {
                int left = Dfa.this.next(state.left, codePoint);
                int right = other.next(state.right, codePoint);
                return left == DEAD || both && right == DEAD ? null : new Pair(left, right);
            }

            @Override
            public void borders(Pair state, TreeSet<Integer> borders) {
                addBorders(state.left, borders);
                other.addBorders(state.right, borders);
            }
        };
        Predicate<Pair> accepted =
                pair -> accepts(pair.left) && (pair.right != DEAD && other.accepts(pair.right)) == both;
        return explore(argument, new Pair(0, 0), rules, accepted);
    }

    /**
     * Returns the automaton of all texts that have at least {@code least} and at most {@code most} code points; {@code most} is -1 for no
     * limit.
     */
    static Dfa lengths(String argument, int least, int most) {
        Rules<Integer> rules = new Rules<>() {
            @Override
            public @Nullable Integer next(Integer length, int codePoint) {
                if (most < 0) {
                    return Math.min(length + 1, least);
                }
                return length < most ? Integer.valueOf(length + 1) : null;
            }

            @Override
            public void borders(Integer length, TreeSet<Integer> borders) {
                borders.add(0);
            }
        };
        return explore(argument, 0, rules, length -> length >= least && (most < 0 || length <= most));
    }

    /** Returns the automaton that accepts the given texts. */
    static Dfa texts(String argument, Iterable<String> texts) {
        TreeSet<String> prefixes = new TreeSet<>();
        TreeSet<String> whole = new TreeSet<>();
        TreeSet<Integer> all = new TreeSet<>();
        for (String text : texts) {
            whole.add(text);
            for (int end = 0; end <= text.length(); end++) {
                prefixes.add(text.substring(0, end));
            }
            text.codePoints().forEach(codePoint -> {
                all.add(codePoint);
                all.add(codePoint + 1);
            });
        }
        Rules<String> rules = new Rules<>() {
            @Override
            public @Nullable String next(String state, int codePoint) {
                String longer = state + Character.toString(codePoint);
                return prefixes.contains(longer) ? longer : null;
            }

            @Override
            public void borders(String state, TreeSet<Integer> borders) {
                borders.addAll(all);
            }
        };
        return explore(argument, "", rules, whole::contains);
    }
}

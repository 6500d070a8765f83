package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A pushdown automaton over bytes. A move of a state reads a byte of a range, reads nothing, or calls the rule at another state and
 * continues after the end of this rule. A machine is built once and then only read.
 */
final class Machine {
    /** A number of plain characters without a limit. */
    static final int ANY_LENGTH = Integer.MAX_VALUE;

    static final int EMPTY = -1;
    static final int CALL = -2;
    /** A move after which no text can end. */
    static final int DEAD = -3;
    /** A move that reads a control token, which has no bytes. */
    static final int TOKEN = -4;
    /** A move that reads nothing, and exists only if the vocabulary lacks the control token. */
    static final int UNLESS_TOKEN = -5;

    static final int NONE = -1;
    /** The largest number of consecutive moves without reading that {@link #isLast} follows. */
    private static final int MOST_SKIPS = 64;

    private final int mostMoves;

    private int states;
    private int moves;
    /** The first move of each state, and the next move of the same state after each move. */
    private int[] first = new int[64];

    private int[] next = new int[64];
    /** The bytes of a move: the lowest byte plus 256 times the highest byte; or one of the constants above. */
    private int[] label = new int[64];

    private int[] target = new int[64];
    /** For a call, its rule; for the moves of a control token, its index among {@link #tokens}. */
    private int[] callee = new int[64];

    private final List<String> tokens = new ArrayList<>();
    /** The JSON pointers of schemas by the first states of their rules, in the order of the rules; null after {@link #trim}. */
    private @Nullable Map<Integer, String> schemas = new LinkedHashMap<>();

    private boolean[] end = new boolean[64];
    /** The number of arbitrary plain characters that a state accepts. */
    private int[] plain = new int[64];

    /** The first states of the rules of whole schemas; null after {@link #trim}. */
    private @Nullable List<Integer> roots = new ArrayList<>();

    /** Creates a machine without states. It may have at most {@code mostMoves} states and at most {@code mostMoves} moves. */
    Machine(int mostMoves) {
        this.mostMoves = mostMoves;
    }

    int states() {
        return states;
    }

    int moves() {
        return moves;
    }

    int first(int state) {
        return first[state];
    }

    int next(int move) {
        return next[move];
    }

    int label(int move) {
        return label[move];
    }

    int target(int move) {
        return target[move];
    }

    int callee(int move) {
        return callee[move];
    }

    boolean isEnd(int state) {
        return end[state];
    }

    int plain(int state) {
        return plain[state];
    }

    /** Returns whether a move with a label reads nothing and calls no rule. */
    static boolean isEmpty(int label) {
        return label == EMPTY || label == UNLESS_TOKEN;
    }

    static boolean reads(int label, int value) {
        return label >= 0 && (label & 0xff) <= value && value <= label >> 8;
    }

    /** Records a state as the first state of a schema's rule. The error for a schema without conforming values needs this state. */
    void setSchema(int state, String path) {
        schemas().put(state, path);
    }

    /** Requires that a value conforms to the schema whose rule begins at a state. */
    void addRoot(int state) {
        roots().add(state);
    }

    List<Integer> roots() {
        return Checks.notNull(roots, "roots");
    }

    /** Returns the JSON pointers of schemas by the first states of their rules, before {@link #trim}. */
    Map<Integer, String> schemas() {
        return Checks.notNull(schemas, "schemas");
    }

    /** Adds a state without moves. */
    int state() {
        if (states == first.length) {
            int size = 2 * states;
            first = Arrays.copyOf(first, size);
            end = Arrays.copyOf(end, size);
            plain = Arrays.copyOf(plain, size);
        }
        require(states);
        first[states] = NONE;
        return states++;
    }

    private void require(int count) {
        if (count >= mostMoves) {
            throw Checks.fail("grammar", "more than " + mostMoves + " states or moves", "expected a smaller one");
        }
    }

    void setEnd(int state) {
        end[state] = true;
    }

    void setPlain(int state, int characters) {
        plain[state] = characters;
    }

    /** Adds a move that reads a byte of a range. */
    void read(int from, int lowest, int highest, int to) {
        move(from, highest << 8 | lowest, to, NONE);
    }

    /** Adds a move that reads nothing. */
    void skip(int from, int to) {
        move(from, EMPTY, to, NONE);
    }

    /** Adds a move that calls the rule at state {@code rule}. */
    void call(int from, int rule, int to) {
        move(from, CALL, to, rule);
    }

    /** Adds moves that read a sequence of bytes. Returns the state after the last byte. */
    int read(int from, byte[] bytes) {
        int at = from;
        for (byte value : bytes) {
            int to = state();
            read(at, value & 0xff, value & 0xff, to);
            at = to;
        }
        return at;
    }

    /** Adds moves that read a control token, or its name if a vocabulary has no control token of this name. */
    void token(int from, String name, int to) {
        if (!tokens.contains(name)) {
            tokens.add(name);
        }
        move(from, TOKEN, to, tokens.indexOf(name));
        int spelled = state();
        move(from, UNLESS_TOKEN, spelled, tokens.indexOf(name));
        skip(read(spelled, name.getBytes(StandardCharsets.UTF_8)), to);
    }

    /** Returns the names of the control tokens that moves read. */
    List<String> tokens() {
        return tokens;
    }

    private void move(int from, int what, int to, int rule) {
        if (moves == next.length) {
            int size = 2 * moves;
            next = Arrays.copyOf(next, size);
            label = Arrays.copyOf(label, size);
            target = Arrays.copyOf(target, size);
            callee = Arrays.copyOf(callee, size);
        }
        require(moves);
        label[moves] = what;
        target[moves] = to;
        callee[moves] = rule;
        next[moves] = first[from];
        first[from] = moves++;
    }

    /** Returns whether only the end of the rule follows a state. */
    boolean isLast(int state) {
        int at = state;
        for (int steps = 0; steps < MOST_SKIPS; steps++) {
            int move = alive(first[at]);
            if (move == NONE) {
                return end[at];
            }
            if (end[at] || label[move] != EMPTY || alive(next[move]) != NONE) {
                return false;
            }
            at = target[move];
        }
        return false;
    }

    private int alive(int move) {
        int at = move;
        while (at != NONE && label[at] == DEAD) {
            at = next[at];
        }
        return at;
    }

    void kill(int move) {
        label[move] = DEAD;
    }

    /** Releases memory that was reserved for more states. */
    void trim() {
        schemas = null;
        roots = null;
        first = Arrays.copyOf(first, states);
        end = Arrays.copyOf(end, states);
        plain = Arrays.copyOf(plain, states);
        next = Arrays.copyOf(next, moves);
        label = Arrays.copyOf(label, moves);
        target = Arrays.copyOf(target, moves);
        callee = Arrays.copyOf(callee, moves);
    }
}

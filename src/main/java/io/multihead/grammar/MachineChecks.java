package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Checks the conditions under which a machine runs: every move leads to an end of the text, and no rule begins with itself. Therefore a
 * text that has begun can always be ended, and sequences of moves that read nothing are finite.
 */
final class MachineChecks {
    /** The largest number of a schema's parts that are checked as the cause of an error. */
    private static final int MOST_PARTS = 64;

    private final Machine machine;
    /** The state that a move leaves. */
    private final int[] source;
    /** Linked lists of the moves into each state, as target or as callee. */
    private final int[] firstInto;

    private final int[] nextInto;

    private MachineChecks(Machine machine) {
        this.machine = machine;
        source = new int[machine.moves()];
        firstInto = new int[machine.states()];
        nextInto = new int[2 * machine.moves()];
        Arrays.fill(firstInto, Machine.NONE);
        for (int state = 0; state < machine.states(); state++) {
            for (int move = machine.first(state); move != Machine.NONE; move = machine.next(move)) {
                source[move] = state;
                enter(2 * move, machine.target(move));
                if (machine.label(move) == Machine.CALL) {
                    enter(2 * move + 1, machine.callee(move));
                }
            }
        }
    }

    private void enter(int slot, int state) {
        nextInto[slot] = firstInto[state];
        firstInto[state] = slot;
    }

    /** Removes dead moves. Fails if no text can end, if no value conforms to a whole schema, or if a rule begins with itself. */
    static void run(Machine machine, int start) {
        MachineChecks checks = new MachineChecks(machine);
        boolean[] alive = checks.reached(false, Set.of());
        for (int root : machine.roots()) {
            if (!alive[root]) {
                throw checks.nothingConforms(root, alive);
            }
        }
        if (!alive[start]) {
            throw Checks.fail("grammar", "no text can end", "expected a grammar that allows at least one text");
        }
        for (int move = 0; move < machine.moves(); move++) {
            boolean called = machine.label(move) != Machine.CALL || alive[machine.callee(move)];
            if (!called || !alive[machine.target(move)]) {
                machine.kill(move);
            }
        }
        checks.requireNoLeftRecursion(checks.reached(true, Set.of()));
        machine.trim();
    }

    /**
     * Returns the error of a schema without values. The error names a part that has no values although its own parts have values, and
     * without which the schema would have values.
     */
    private IllegalArgumentException nothingConforms(int root, boolean[] alive) {
        Map<Integer, String> schemas = machine.schemas();
        Set<Integer> changed = new HashSet<>();
        int part = root;
        for (int schema : schemas.keySet()) {
            if (!alive[schema] && changed.size() < MOST_PARTS && !callsDeadSchema(schema, alive)) {
                changed.add(schema);
                if (reached(false, changed)[root]) {
                    part = schema;
                    break;
                }
            }
        }
        return Checks.fail(
                String.valueOf(schemas.get(part)),
                "no value conforms to this schema",
                "expected a schema to which at least one value conforms");
    }

    /**
     * Returns whether the rule of a schema calls another schema's rule whose end is never reached. The call may be in a rule for a part of
     * the text.
     */
    private boolean callsDeadSchema(int start, boolean[] alive) {
        boolean[] seen = new boolean[machine.states()];
        ArrayDeque<Integer> waiting = new ArrayDeque<>();
        visit(start, seen, waiting);
        while (!waiting.isEmpty()) {
            int state = waiting.remove();
            for (int move = machine.first(state); move != Machine.NONE; move = machine.next(move)) {
                int callee = machine.callee(move);
                if (machine.label(move) == Machine.CALL && !alive[callee]) {
                    if (machine.schemas().containsKey(callee)) {
                        return true;
                    }
                    visit(callee, seen, waiting);
                }
                visit(machine.target(move), seen, waiting);
            }
        }
        return false;
    }

    private static void visit(int state, boolean[] seen, ArrayDeque<Integer> waiting) {
        if (!seen[state]) {
            seen[state] = true;
            waiting.add(state);
        }
    }

    /**
     * Returns the states from which an end of their rule is reached. If {@code emptily} is true, the end must be reached without reading a
     * byte.
     *
     * @param ends further states at which a rule ends
     */
    private boolean[] reached(boolean emptily, Set<Integer> ends) {
        boolean[] reached = new boolean[machine.states()];
        ArrayDeque<Integer> waiting = new ArrayDeque<>();
        for (int state = 0; state < machine.states(); state++) {
            if (machine.isEnd(state) || ends.contains(state)) {
                reached[state] = true;
                waiting.add(state);
            }
        }
        while (!waiting.isEmpty()) {
            int state = waiting.remove();
            for (int slot = firstInto[state]; slot != Machine.NONE; slot = nextInto[slot]) {
                int move = slot >> 1;
                int label = machine.label(move);
                boolean counts = Machine.isEmpty(label)
                        || (label >= 0 || label == Machine.TOKEN) && !emptily
                        || label == Machine.CALL && reached[machine.callee(move)];
                if (counts && reached[machine.target(move)] && !reached[source[move]]) {
                    reached[source[move]] = true;
                    waiting.add(source[move]);
                }
            }
        }
        return reached;
    }

    /**
     * Fails if a call is part of a cycle of moves that read nothing. Such a cycle lies within a strongly connected component. Tarjan's
     * algorithm (1972) finds these components.
     */
    private void requireNoLeftRecursion(boolean[] empty) {
        int[] part = new Parts(empty).find();
        for (int move = 0; move < machine.moves(); move++) {
            if (machine.label(move) == Machine.CALL && part[source[move]] == part[machine.callee(move)]) {
                throw Checks.fail(
                        "grammar",
                        "a rule that begins with itself before it reads a character",
                        "expected no left recursion");
            }
        }
    }

    private final class Parts {
        private final boolean[] empty;
        private final int[] index = new int[machine.states()];
        private final int[] low = new int[machine.states()];
        private final int[] part = new int[machine.states()];
        /** The next move to visit, times two. The number is odd after the callee was visited. */
        private final int[] slot = new int[machine.states()];

        private final int[] path = new int[machine.states()];
        private final int[] open = new int[machine.states()];
        private int depth;
        private int opened;
        private int count;

        Parts(boolean[] empty) {
            this.empty = empty;
            Arrays.fill(part, Machine.NONE);
        }

        int[] find() {
            for (int state = 0; state < machine.states(); state++) {
                if (index[state] == 0) {
                    search(state);
                }
            }
            return part;
        }

        private void search(int root) {
            enter(root);
            while (depth > 0) {
                int state = path[depth - 1];
                int to = successor(state);
                if (to == Machine.NONE) {
                    leave(state);
                } else if (index[to] == 0) {
                    enter(to);
                } else if (part[to] == Machine.NONE) {
                    low[state] = Math.min(low[state], index[to]);
                }
            }
        }

        private void enter(int state) {
            count++;
            index[state] = count;
            low[state] = count;
            slot[state] = 2 * machine.first(state);
            path[depth++] = state;
            open[opened++] = state;
        }

        private void leave(int state) {
            depth--;
            if (depth > 0) {
                int parent = path[depth - 1];
                low[parent] = Math.min(low[parent], low[state]);
            }
            if (low[state] == index[state]) {
                int member;
                do {
                    member = open[--opened];
                    part[member] = state;
                } while (member != state);
            }
        }

        /**
         * Returns the next state that a move reaches without reading. A call reaches its rule, and also its target if the rule may be
         * empty.
         */
        private int successor(int state) {
            while (slot[state] >= 0) {
                int move = slot[state] >> 1;
                boolean calleeSeen = (slot[state] & 1) != 0;
                int label = machine.label(move);
                if (label == Machine.CALL && !calleeSeen) {
                    slot[state]++;
                    return machine.callee(move);
                }
                slot[state] = 2 * machine.next(move);
                if (Machine.isEmpty(label) || label == Machine.CALL && empty[machine.callee(move)]) {
                    return machine.target(move);
                }
            }
            return Machine.NONE;
        }
    }
}

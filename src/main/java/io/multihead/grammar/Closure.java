package io.multihead.grammar;

import io.multihead.grammar.Configuration.Frame;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Collects the places of one configuration. It follows moves that read nothing, calls, and ends of rules. */
final class Closure {
    /** The largest number of places at once; a grammar with more places has unbounded ambiguity. */
    static final int MOST_PLACES = 4096;

    private static final int FEW = 8;

    private record Place(int state, @Nullable Frame frame) {
        @Override
        public boolean equals(@Nullable Object object) {
            return object instanceof Place other && state == other.state && Frame.same(frame, other.frame);
        }

        @Override
        public int hashCode() {
            return 31 * state + (frame == null ? 0 : frame.hash());
        }
    }

    private final Machine machine;
    /** Whether the vocabulary has a control token, by the index of the token. */
    private final boolean[] hasToken;

    private int[] states = new int[FEW];
    private @Nullable Frame[] frames = new Frame[FEW];
    private int count;
    private final Set<Place> many = new HashSet<>();
    private boolean end;

    Closure(Machine machine, boolean[] hasToken) {
        this.machine = machine;
        this.hasToken = hasToken;
    }

    /** Begins a configuration. */
    void clear() {
        count = 0;
        end = false;
        many.clear();
    }

    /** Adds a place unless it was already added. */
    void add(int state, @Nullable Frame frame) {
        if (count <= FEW) {
            for (int i = 0; i < count; i++) {
                if (states[i] == state && Frame.same(frames[i], frame)) {
                    return;
                }
            }
        }
        if (count == FEW) {
            for (int i = 0; i < count; i++) {
                many.add(new Place(states[i], frames[i]));
            }
        }
        if (count >= FEW && !many.add(new Place(state, frame))) {
            return;
        }
        if (count == MOST_PLACES) {
            throw new IllegalStateException("grammar: more than " + MOST_PLACES
                    + " places at once for one text; expected a grammar that is less ambiguous");
        }
        if (count == states.length) {
            states = Arrays.copyOf(states, 2 * count);
            frames = Arrays.copyOf(frames, 2 * count);
        }
        states[count] = state;
        frames[count] = frame;
        count++;
    }

    /** Ends a configuration. The configuration has the places that read a byte or a control token. */
    Configuration finish() {
        int plain = 0;
        int kept = 0;
        // places that are added during the loop are visited, too
        for (int i = 0; i < count; i++) {
            int state = states[i];
            Frame frame = frames[i];
            plain = Math.max(plain, machine.plain(state));
            leave(state, frame);
            if (follow(state, frame)) {
                kept++;
            }
        }
        int[] reading = new int[kept];
        @Nullable Frame[] behind = new Frame[kept];
        int to = 0;
        for (int i = 0; i < count && to < kept; i++) {
            if (isReading(states[i])) {
                reading[to] = states[i];
                behind[to] = frames[i];
                to++;
            }
        }
        return new Configuration(reading, behind, end, plain);
    }

    private void leave(int state, @Nullable Frame frame) {
        if (machine.isEnd(state)) {
            if (frame == null) {
                end = true;
            } else {
                add(frame.state(), frame.outer());
            }
        }
    }

    /** Follows the moves that read nothing. Returns whether there are moves that read. */
    private boolean follow(int state, @Nullable Frame frame) {
        boolean reads = false;
        for (int move = machine.first(state); move != Machine.NONE; move = machine.next(move)) {
            int label = machine.label(move);
            int target = machine.target(move);
            if (label == Machine.EMPTY || label == Machine.UNLESS_TOKEN && !hasToken[machine.callee(move)]) {
                add(target, frame);
            } else if (label == Machine.CALL) {
                // without a frame for a call at the end of its rule, repetition by recursion needs no memory
                add(machine.callee(move), machine.isLast(target) ? frame : new Frame(target, frame));
            } else {
                reads |= reads(move);
            }
        }
        return reads;
    }

    private boolean isReading(int state) {
        for (int move = machine.first(state); move != Machine.NONE; move = machine.next(move)) {
            if (reads(move)) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a move reads a byte, or a control token that the vocabulary has. */
    private boolean reads(int move) {
        int label = machine.label(move);
        return label >= 0 || label == Machine.TOKEN && hasToken[machine.callee(move)];
    }
}

package io.multihead.grammar;

import java.util.Collection;
import java.util.List;
import java.util.function.IntConsumer;

/**
 * The notation of the values of a schema: strings, names of properties, null and white space. Its methods add states and moves to a
 * machine.
 */
abstract class Notation {
    /** The largest length limit that a schema may set. Each character needs a state. */
    static final int MOST_LENGTH = 50_000;

    final Machine machine;

    /** The first state of the rule of white space. */
    final int space;

    Notation(Machine machine, int space) {
        this.machine = machine;
        this.space = space;
    }

    /** Reads the mark with which a string begins. Returns the state after the mark. */
    abstract int begin(int from);

    /** Reads the mark with which a string ends. */
    abstract void end(int from, int to);

    /** Returns the bytes of a given string without its marks. If the string cannot be written, the error names {@code path}. */
    abstract byte[] characters(String path, String text);

    /**
     * Reads a string without a pattern, with its marks. It has at least {@code least} and at most {@code most} characters; {@code most} is
     * -1 for no limit.
     */
    abstract void free(String path, int from, int least, int most, int to);

    /** Reads a string whose value an automaton accepts, with its marks. */
    abstract void matching(String path, int from, Dfa dfa, int to);

    /** Reads the name of a property. Returns the state after the name. */
    abstract int name(String path, int from, String name);

    /** Reads a name that an automaton accepts. */
    abstract void names(String path, int from, Dfa dfa, int to);

    /** Reads one of the code points of a move, in the form that it has within a string. */
    abstract void move(int from, Dfa.Move move, int to);

    /** Adds the states and moves of an automaton, and calls {@code addEnd} for each accepting state. Returns the first state. */
    final int add(Dfa dfa, IntConsumer addEnd) {
        int[] states = new int[dfa.states()];
        for (int i = 0; i < states.length; i++) {
            states[i] = machine.state();
        }
        for (int i = 0; i < states.length; i++) {
            for (Dfa.Move move : dfa.moves(i)) {
                move(states[i], move, states[move.to()]);
            }
            if (dfa.accepts(i)) {
                addEnd.accept(states[i]);
            }
        }
        return states[0];
    }

    /** Returns names of properties in the order in which they are written. */
    abstract List<String> ordered(Collection<String> names);

    /** Returns the words for null in this notation. */
    abstract List<String> nulls();
}

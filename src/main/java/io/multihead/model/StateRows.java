package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;

/** Where the rows of a token are for a recurrence of heads, each of which has a state of rows and columns. */
interface StateRows {
    /** Returns the heads that have states. */
    int heads();

    /** Returns the rows of a head's state: elements of the factors that read and write it. */
    int depth();

    /** Returns the columns of a head's state: elements of a value. */
    int columns();

    /** Returns the floats from one token's row to the next. */
    int stride();

    /** Returns where the values of all heads begin, one behind the other. */
    int valuesAt();

    /** Returns where the factors begin by which a head's state is read. */
    int readAt(int head);

    /** Returns where the factors begin by which a head's state is written. */
    int writeAt(int head);

    /** Returns where the rates of all heads begin. */
    int ratesAt();

    /** Returns where the decays of all heads begin. */
    int decaysAt();

    /** Returns the floats from one token's results to the next. */
    int contextStride();

    /** Returns the panels of a head's state. */
    default int panels() {
        return panels(columns());
    }

    default int panel() {
        return depth() * PANEL;
    }

    /** Returns how many panels have so many columns. */
    static int panels(int columns) {
        return Math.ceilDiv(columns, PANEL);
    }

    /** Returns the states that a sequence keeps: the panels of each head, one after the other. */
    static int floats(String what, int heads, int depth, int columns) {
        return Checks.product(what, heads, panels(columns), depth, PANEL);
    }
}

package io.multihead.model;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;

/** The location of the rows of a token for a recurrence of heads, each of which has a state of rows and columns. */
interface StateRows {
    /** Returns the number of heads that have states. */
    int heads();

    /** Returns the number of rows of a head's state, which is the number of factors that read or write it. */
    int depth();

    /** Returns the number of columns of a head's state, which is the number of elements of a value. */
    int columns();

    /** Returns the number of floats from one token's row to the next. */
    int stride();

    /** Returns the index of the values, which are stored head by head. */
    int valuesAt();

    /** Returns the index of the factors with which a head's state is read. */
    int readAt(int head);

    /** Returns the index of the factors with which a head's state is written. */
    int writeAt(int head);

    /** Returns the index of the rates of all heads. */
    int ratesAt();

    /** Returns the index of the decays of all heads. */
    int decaysAt();

    /** Returns the number of floats from one token's results to the next. */
    int contextStride();

    /** Returns the number of panels of a head's state. */
    default int panels() {
        return panels(columns());
    }

    default int panel() {
        return depth() * PANEL;
    }

    /** Returns the number of panels that hold a number of columns. */
    static int panels(int columns) {
        return Math.ceilDiv(columns, PANEL);
    }

    /** Returns the number of floats that a sequence keeps: the panels of each head, in the order of the heads. */
    static int floats(String what, int heads, int depth, int columns) {
        return Checks.product(what, heads, panels(columns), depth, PANEL);
    }
}

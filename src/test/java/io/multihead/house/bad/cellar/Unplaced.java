package io.multihead.house.bad.cellar;

/** Lies in a package that the plan of the house does not have. */
public final class Unplaced {
    private Unplaced() {}
}

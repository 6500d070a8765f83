package io.multihead.house.bad.cellar;

/** Is in a package that has no level. */
public final class Unplaced {
    private Unplaced() {}
}

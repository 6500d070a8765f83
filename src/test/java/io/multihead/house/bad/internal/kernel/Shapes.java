package io.multihead.house.bad.internal.kernel;

import jdk.incubator.vector.FloatVector;

/** Has its own vector shape. */
public final class Shapes {
    /** The lanes of a vector of this shape. */
    public static final int COUNT = FloatVector.SPECIES_256.length();

    private Shapes() {}
}

package io.multihead.house.bad.internal.kernel;

import jdk.incubator.vector.FloatVector;

/** Passes a vector from method to method. */
public final class Passes {
    private Passes() {}

    static FloatVector twice(FloatVector vector) {
        return vector.add(vector);
    }
}

package io.multihead.internal.base;

import org.jspecify.annotations.Nullable;

/**
 * Gives the library's own loops, and no other code, access to the elements of a tensor by their positions in its memory: the class Tensor
 * registers the access here when it is initialized.
 */
public final class ElementAccess {
    private static volatile @Nullable Inside inside;

    private ElementAccess() {}

    /** Reads and writes elements. */
    public interface Inside {
        /** Returns an element of a tensor. */
        double get(Object tensor, long position);

        /** Stores an element of a tensor. */
        void set(Object tensor, double value, long position);
    }

    /** Registers the access. Tensor's static initializer calls this method once. */
    public static void open(Inside newInside) {
        inside = newInside;
    }

    /** Returns the access to a tensor's elements. */
    public static Inside inside() {
        return Checks.notNull(inside, "inside");
    }
}

package io.multihead.internal.base;

import org.jspecify.annotations.Nullable;

/**
 * Opens the elements of a tensor, by their positions in its memory, to the library's own loops and to nobody else: the class Tensor leaves
 * here, when it is initialized, how to reach them.
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

    /** Called once, by Tensor's static initializer. */
    public static void open(Inside newInside) {
        inside = newInside;
    }

    /** Returns how a tensor's elements are reached. */
    public static Inside inside() {
        return Checks.notNull(inside, "inside");
    }
}

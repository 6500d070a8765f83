package io.multihead.internal.call;

import io.multihead.internal.base.Checks;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Gives the library's own packages, and no other code, access to the array behind the states of a model's buffers: the class Buffers
 * registers the access here when it is initialized.
 */
public final class StateAccess {
    private static volatile @Nullable Function<Object, float[]> inside;

    private StateAccess() {}

    /** Called once, by Buffers' static initializer. */
    public static void open(Function<Object, float[]> newInside) {
        inside = newInside;
    }

    /** Returns the states of the last call, in the rows of the tensor that Buffers returns. */
    public static float[] array(Object buffers) {
        return Checks.notNull(inside, "inside").apply(buffers);
    }
}

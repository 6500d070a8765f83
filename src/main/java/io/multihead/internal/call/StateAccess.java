package io.multihead.internal.call;

import io.multihead.internal.base.Checks;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Opens the array behind the states of a model's buffers to the library's own packages and to nobody else: the class Buffers leaves here,
 * when it is initialized, how to reach it.
 */
public final class StateAccess {
    private static volatile @Nullable Function<Object, float[]> inside;

    private StateAccess() {}

    /** Called once, by Buffers' static initializer. */
    public static void open(Function<Object, float[]> newInside) {
        inside = newInside;
    }

    /** Returns the states of the last call, whose rows are those of the tensor that Buffers returns. */
    public static float[] array(Object buffers) {
        return Checks.notNull(inside, "inside").apply(buffers);
    }
}

package io.multihead.internal.exec;

import io.multihead.internal.base.Checks;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Gives the library's own packages, and no other code, access to a Compute, like the JDK's SharedSecrets: this package is below {@code
 * io.multihead.compute} and is not exported, and the class Compute registers the access here when it is initialized.
 */
public final class ComputeAccess {
    private static volatile @Nullable Function<Object, Execution> inside;

    private ComputeAccess() {}

    /** Called once, by Compute's static initializer. */
    public static void open(Function<Object, Execution> newInside) {
        inside = newInside;
    }

    /** Returns the {@link Execution} that implements a Compute. */
    public static Execution execution(Object compute) {
        return Checks.notNull(inside, "inside").apply(compute);
    }
}

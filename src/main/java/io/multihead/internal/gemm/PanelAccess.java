package io.multihead.internal.gemm;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Opens the panels of packed weights to the library's own packages and to nobody else: the class PackedWeights leaves here, when it is
 * initialized, how to reach them.
 */
public final class PanelAccess {
    private static volatile @Nullable Inside inside;

    private PanelAccess() {}

    /** From weights to panels and back. */
    public interface Inside {
        /** Returns the panels of weights. */
        Tensor panels(Object weights);

        Object weights(Tensor panels, Object format, long inputs, long outputs);
    }

    /** Called once, by PackedWeights' static initializer. */
    public static void open(Inside newInside) {
        inside = newInside;
    }

    /** Returns how panels are reached. */
    public static Inside inside() {
        return Checks.notNull(inside, "inside");
    }
}

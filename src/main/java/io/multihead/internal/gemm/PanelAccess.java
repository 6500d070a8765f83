package io.multihead.internal.gemm;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Gives the library's own packages, and no other code, access to the panels of packed weights: the class PackedWeights registers the access
 * here when it is initialized.
 */
public final class PanelAccess {
    private static volatile @Nullable Inside inside;

    private PanelAccess() {}

    /** Converts weights to panels and back. */
    public interface Inside {
        /** Returns the panels of weights. */
        Tensor panels(Object weights);

        Object weights(Tensor panels, Object format, long inputs, long outputs);
    }

    /** Registers the access. PackedWeights' static initializer calls this method once. */
    public static void open(Inside newInside) {
        inside = newInside;
    }

    /** Returns the access to panels. */
    public static Inside inside() {
        return Checks.notNull(inside, "inside");
    }
}

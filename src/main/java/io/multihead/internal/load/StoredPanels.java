package io.multihead.internal.load;

import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.gemm.PanelAccess;
import io.multihead.tensor.Tensor;
import java.lang.invoke.MethodHandles;

/** The panels of packed weights as tensors, for files with the panels of many matrices. */
public final class StoredPanels {
    static {
        try {
            MethodHandles.lookup().ensureInitialized(PackedWeights.class);
        } catch (IllegalAccessException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private StoredPanels() {}

    /** Returns the memory that products read, as a read-only tensor with one axis and elements of the format's type. */
    public static Tensor of(PackedWeights weights) {
        return PanelAccess.inside().panels(weights);
    }

    /**
     * Returns weights that read panels, without a copy, or fails if the panels have other sizes, or are not in native memory that begins on
     * a multiple of 64 bytes. The panels must not change while the weights are used.
     */
    public static PackedWeights weights(Tensor panels, WeightFormat format, long inputs, long outputs) {
        return (PackedWeights) PanelAccess.inside().weights(panels, format, inputs, outputs);
    }
}

package io.multihead.gemm;

import io.multihead.internal.base.Checks;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.tensor.DType;

/**
 * How {@link PackedWeights} store elements. One row of a product reads every weight once, so it takes as long as their bytes are read:
 * half as many in bf16.
 */
public enum WeightFormat {
    /** 4 bytes: every element as it is, f64 rounded. */
    F32(PanelFormat.F32, DType.F32, 0),
    /** 2 bytes. Products have the bits of those with the widened elements. */
    BF16(PanelFormat.BF16, DType.BF16, 1),
    /** 2 bytes, finite elements alone. Products have the bits of those with the widened elements. */
    F16(PanelFormat.F16, DType.F16, 2);

    final PanelFormat panels;
    /** The element type of a tensor of panels. */
    final DType dtype;
    /** The number that files hold. */
    final int code;

    WeightFormat(PanelFormat panels, DType dtype, int code) {
        this.panels = panels;
        this.dtype = dtype;
        this.code = code;
    }

    static WeightFormat of(PanelFormat panels) {
        for (WeightFormat format : values()) {
            if (format.panels == panels) {
                return format;
            }
        }
        throw new IllegalStateException("format: " + panels + "; expected one of weights");
    }

    static WeightFormat ofCode(int code) {
        for (WeightFormat format : values()) {
            if (format.code == code) {
                return format;
            }
        }
        throw Checks.fail("format", String.valueOf(code), "expected 0 to " + (values().length - 1));
    }
}

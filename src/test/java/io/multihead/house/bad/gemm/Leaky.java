package io.multihead.house.bad.gemm;

import io.multihead.house.bad.internal.kernel.Hidden;

/** An exported class whose signature mentions one that is not. */
public final class Leaky {
    private Leaky() {}

    /** Returns a type that code outside may not name. */
    public static Hidden[] leak() {
        return new Hidden[0];
    }
}

package io.multihead.house.bad.gemm;

import io.multihead.house.bad.internal.kernel.Hidden;

/** An exported class with a signature that mentions a class that is not exported. */
public final class Leaky {
    private Leaky() {}

    /** Returns a type that code outside the module cannot name. */
    public static Hidden[] leak() {
        return new Hidden[0];
    }
}

package io.multihead.house.bad.reference;

import io.multihead.house.bad.internal.exec.Pool;

/** A specification with more dependencies than tensors. */
public final class Specification {
    private Specification() {}

    /** Uses a package that is neither tensor nor internal. */
    public static void use() {
        Pool.start();
    }
}

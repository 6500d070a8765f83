package io.multihead.house.bad.tensor.deep;

import io.multihead.house.bad.internal.exec.Pool;

/** Depends on a higher level, from a nested package. */
public final class Upward {
    private Upward() {}

    /** Uses a package of a higher level. */
    public static void use() {
        Pool.start();
    }
}

package io.multihead.house.bad.tensor.deep;

import io.multihead.house.bad.internal.exec.Pool;

/** Points up, from a package below a room. */
public final class Upward {
    private Upward() {}

    /** Uses a higher floor. */
    public static void use() {
        Pool.start();
    }
}

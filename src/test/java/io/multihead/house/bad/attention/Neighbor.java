package io.multihead.house.bad.attention;

import io.multihead.house.bad.gemm.Offences;
import io.multihead.house.bad.internal.exec.Pool;

/** Depends on a lower package, which is allowed, and on a package of the same level. */
public final class Neighbor {
    private Neighbor() {}

    /** Returns an array of a type in a package of the same level. */
    public static Offences.Logs @org.jspecify.annotations.Nullable [] logs() {
        Pool.start();
        return null;
    }
}

package io.multihead.house.bad.attention;

import io.multihead.house.bad.gemm.Offences;
import io.multihead.house.bad.internal.exec.Pool;

/** Points down, which is allowed, and at its neighbour. */
public final class Neighbour {
    private Neighbour() {}

    /** Holds a neighbour's array. */
    public static Offences.Logs @org.jspecify.annotations.Nullable [] logs() {
        Pool.start();
        return null;
    }
}

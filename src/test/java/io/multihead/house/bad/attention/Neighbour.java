package io.multihead.house.bad.attention;

import io.multihead.house.bad.compute.Pool;
import io.multihead.house.bad.gemm.Offences;

/** Points down, which is allowed, and at its neighbour. */
public final class Neighbour {
    private Neighbour() {}

    /** Holds a neighbour's array. */
    public static Offences.Logs @org.jspecify.annotations.Nullable [] logs() {
        Pool.start();
        return null;
    }
}

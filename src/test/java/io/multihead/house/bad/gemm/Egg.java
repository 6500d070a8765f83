package io.multihead.house.bad.gemm;

/** Depends on {@link Chicken}, which depends on this class. */
class Egg {
    Chicken hatch() {
        return new Chicken();
    }
}

package io.multihead.house.bad.gemm;

/** Needs the chicken that needs it. */
class Egg {
    Chicken hatch() {
        return new Chicken();
    }
}

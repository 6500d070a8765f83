package io.multihead.house.bad.gemm;

/** Depends on {@link Egg}, which depends on this class, through a nested class. */
class Chicken {
    static class Brood {
        Egg egg() {
            return new Egg();
        }
    }
}

package io.multihead.house.bad.gemm;

/** Needs the egg that needs it, through a nested class. */
class Chicken {
    static class Brood {
        Egg egg() {
            return new Egg();
        }
    }
}

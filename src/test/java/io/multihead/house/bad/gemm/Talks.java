package io.multihead.house.bad.gemm;

/** Is a dependency of {@link Constants}, and names that class only in this comment, which is not a dependency. */
class Talks {
    private Talks() {}

    static int nothing() {
        return 0;
    }
}

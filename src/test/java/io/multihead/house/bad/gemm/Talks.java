package io.multihead.house.bad.gemm;

/** Is needed and names {@link Constants} in a comment alone, which is no dependency. */
class Talks {
    private Talks() {}

    static int nothing() {
        return 0;
    }
}

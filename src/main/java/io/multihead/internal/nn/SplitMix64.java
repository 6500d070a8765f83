package io.multihead.internal.nn;

/** Pseudo-random numbers of the generator SplitMix64 (Steele, Lea and Flood 2014): the same on every machine. Not thread-safe. */
public final class SplitMix64 {
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    private long state;

    /** Begins a sequence of numbers. */
    public SplitMix64(long seed) {
        this.state = seed;
    }

    /** Returns the next number, uniform in [0, 1): a multiple of 2<sup>-53</sup>. */
    public double nextUnit() {
        state += GOLDEN;
        return (finish(state) >>> 11) * 0x1p-53;
    }

    /** Returns a seed for the part of a whole with the given index: the generator's number of that index. */
    public static long seedOf(long seed, int index) {
        return finish(seed + (index + 1) * GOLDEN);
    }

    private static long finish(long value) {
        long mixed = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }
}

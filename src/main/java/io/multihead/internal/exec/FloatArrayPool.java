package io.multihead.internal.exec;

import java.lang.ref.SoftReference;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * Arrays kept for the next call. A new array of some megabytes is zeroed, and its memory is not in the caches. These costs were 2 % of the
 * time of a layer and 4 % of the time of a training step. Thread-safe.
 *
 * <p>Above 64 MiB, an array is dropped if {@link #AGE} arrays have been taken since it was given back. Therefore the results of a recorded
 * pass of any size are kept from step to step, but not after the training. The garbage collector may take any kept array when the heap is
 * full.
 */
final class FloatArrayPool {
    private static final long CAPACITY = 1L << 24;

    /** More arrays than a step of training takes: a block takes about 20. */
    static final int AGE = 1 << 12;

    /**
     * An array that no call uses.
     *
     * @param since the number of arrays that had been taken when it was given back
     */
    private record Idle(SoftReference<float[]> array, int length, long since) {}

    /** Idle arrays, with the least recently used array first. */
    private final Deque<Idle> idle = new ArrayDeque<>();

    private long total;
    private long taken;
    private boolean closed;

    FloatArrayPool() {}

    /** Returns an array at least as long as requested and at most twice as long, with arbitrary contents. */
    synchronized float[] take(int length) {
        taken++;
        for (Iterator<Idle> candidates = idle.descendingIterator(); candidates.hasNext(); ) {
            Idle candidate = candidates.next();
            if (candidate.length >= length && candidate.length / 2 <= length) {
                candidates.remove();
                total -= candidate.length;
                float @Nullable [] array = candidate.array.get();
                if (array != null) {
                    return array;
                }
            }
        }
        return new float[length];
    }

    /** Keeps an array for later, and drops arrays above the capacity that have not been used for long; after close, drops it. */
    synchronized void giveBack(float[] array) {
        if (closed) {
            return;
        }
        idle.add(new Idle(new SoftReference<>(array), array.length, taken));
        total += array.length;
        while (total > CAPACITY && taken - idle.element().since > AGE) {
            total -= idle.remove().length;
        }
    }

    synchronized long heldBytes() {
        return total * Float.BYTES;
    }

    /** Drops all arrays. */
    synchronized void trim() {
        idle.clear();
        total = 0;
    }

    /** Drops all arrays, including arrays that are given back later. */
    synchronized void close() {
        closed = true;
        trim();
    }
}

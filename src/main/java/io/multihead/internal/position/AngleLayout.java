package io.multihead.internal.position;

import io.multihead.internal.kernel.Rotation;

/**
 * The order of the cosines and sines of one position, as {@link Rotation} reads them: for half-split pairs all cosines, then all sines; for
 * interleaved pairs every cosine twice, then every sine twice, of which the first is negated.
 */
public record AngleLayout(int pairs, boolean interleaved) {
    /** Returns the number of floats of the cosines, which equals the number of floats of the sines. */
    private int width() {
        return interleaved ? 2 * pairs : pairs;
    }

    int floats() {
        return 2 * width();
    }

    /** Stores the cosine and sine of a pair. */
    void put(float[] to, int at, int pair, float cos, float sin) {
        if (interleaved) {
            to[at + 2 * pair] = cos;
            to[at + 2 * pair + 1] = cos;
            to[at + width() + 2 * pair] = -sin;
            to[at + width() + 2 * pair + 1] = sin;
        } else {
            to[at + pair] = cos;
            to[at + width() + pair] = sin;
        }
    }

    /** Stores the cosines and sines of all pairs, each contiguous. */
    void putAll(float[] to, int at, float[] cos, float[] sin, int from) {
        for (int pair = 0; pair < pairs; pair++) {
            put(to, at, pair, cos[from + pair], sin[from + pair]);
        }
    }

    float cos(float[] angles, int at, int pair) {
        return angles[at + (interleaved ? 2 * pair : pair)];
    }

    float sin(float[] angles, int at, int pair) {
        return angles[at + width() + (interleaved ? 2 * pair + 1 : pair)];
    }

    /** Rotates a row in place by stored angles, times {@code direction}. */
    void rotate(float[] row, int at, float[] angles, int a0, float direction) {
        if (interleaved) {
            Rotation.neighbors(row, at, pairs, angles, a0, direction);
        } else {
            Rotation.halves(row, at, pairs, angles, a0, direction);
        }
    }

    void rotatePair(float[] row, int at, int pair, float cos, float sin) {
        int first = at + (interleaved ? 2 * pair : pair);
        Rotation.pair(row, first, first + (interleaved ? 1 : pairs), cos, sin);
    }
}

package io.multihead.tensor;

/** The 16 numbers that codes of 4 bits represent. */
enum CodeBook {
    /** E2M1, doubled: the highest bit is the sign. Zero has two codes, and neither is negative. */
    E2M1(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12),
    /** The numbers of IQ4_NL and IQ4_XS. */
    IQ4(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);

    private final float[] values;

    CodeBook(float... values) {
        this.values = values;
    }

    float value(int code) {
        return values[code];
    }

    /** Returns {@code 2^(e - 128)}, the factor of a doubled element of E2M1. */
    static float halfPower(int e) {
        return Math.scalb(1f, e - 128);
    }

    /**
     * Returns the code of the closest number, or of the higher of two equally close numbers. The numbers must ascend.
     */
    int nearest(float x) {
        int code = 0;
        while (code < 15 && x - values[code] >= values[code + 1] - x) {
            code++;
        }
        return code;
    }

    /** Returns the code whose number times a scale is closest to a value, the first of equally close ones. */
    int nearest(float x, float scale) {
        int best = 0;
        for (int code = 1; code < 16; code++) {
            if (Math.abs(values[code] * scale - x) < Math.abs(values[best] * scale - x)) {
                best = code;
            }
        }
        return best;
    }
}

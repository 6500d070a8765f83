package io.multihead.tensor;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.BlockRounding.Search;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Rounds f32 weights to blocks, like ggml's reference; {@link BlockType} defines the positions of the bits. If a scale of a k-quant is
 * rounded to 0, its integers are 0 here, and in ggml they are the integers of the search; the values are the same. Belongs to one thread.
 */
final class BlockQuantizer {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private static final float LEAST = 1e-15f;

    /**
     * The limit of a weight's magnitude. Larger weights need a scale that f16 cannot hold in every type with f16 scales. Sums of cubes of
     * smaller weights do not overflow.
     */
    private static final float MOST = 1e10f;

    private final BlockRounding rounding = new BlockRounding();
    private final byte[] block = new byte[BlockType.Q6_K.bytes()];
    private final MemorySegment memory = MemorySegment.ofArray(block);
    private final float[] scales = new float[16];
    private final float[] minima = new float[16];
    private final int[] quants = new int[256];

    /** Rounds the weights of one block, which are finite, and stores its bytes. */
    void quantize(BlockType type, float[] x, int at, MemorySegment to, long offset) {
        float largest = BlockRounding.largest(x, at, type.elements());
        if (type != BlockType.MXFP4 && Math.abs(largest) > MOST) {
            throw tooLarge("weights as large as " + largest);
        }
        Arrays.fill(block, (byte) 0);
        switch (type) {
            case Q8_0 -> bytes(x, at);
            case Q4_0 -> signed(x, at, 4);
            case Q4_1 -> withMinimum(x, at, 4);
            case Q5_0 -> signed(x, at, 5);
            case Q5_1 -> withMinimum(x, at, 5);
            case Q4_K -> withMinima(x, at, Search.Q4_K, 0, 63);
            case Q5_K -> withMinima(x, at, Search.Q5_K, 0, 63);
            case Q6_K -> sixBits(x, at);
            case Q3_K -> threeBits(x, at);
            case Q2_K -> withMinima(x, at, Search.Q2_K, 80, 15);
            case MXFP4 -> powerOfTwo(x, at);
            case IQ4_NL -> codes(x, at);
            case IQ4_XS -> codesWithScales(x, at);
        }
        MemorySegment.copy(block, 0, to, ValueLayout.JAVA_BYTE, offset, type.bytes());
    }

    private void bytes(float[] x, int at) {
        float d = Math.abs(BlockRounding.largest(x, at, 32)) / 127;
        float inverse = inverse(d);
        setHalf(0, d);
        for (int i = 0; i < 32; i++) {
            block[2 + i] = (byte) halfAway(x[at + i] * inverse);
        }
    }

    /** Returns the inverse of a number. The result is 0 also if f32 cannot hold the inverse; the f16 scale is then 0, too. */
    private static float inverse(float d) {
        float inverse = 1 / d;
        return Float.isInfinite(inverse) ? 0 : inverse;
    }

    /** Rounds like C's {@code roundf}: ties away from zero. */
    private static int halfAway(float value) {
        int towardsZero = (int) value;
        return Math.abs(value - towardsZero) < 0.5f ? towardsZero : towardsZero + (int) Math.signum(value);
    }

    /** Rounds to Q4_0 or Q5_0: the weight of largest magnitude has the smallest integer. */
    private void signed(float[] x, int at, int bits) {
        int zero = 1 << bits - 1;
        float d = BlockRounding.largest(x, at, 32) / -zero;
        float inverse = inverse(d);
        setHalf(0, d);
        for (int i = 0; i < 32; i++) {
            quants[i] = Math.min(2 * zero - 1, (int) (x[at + i] * inverse + (zero + 0.5f)));
        }
        storePairs(2, bits);
    }

    /** Rounds to Q4_1 or Q5_1: the smallest weight has integer 0, and the largest weight has the largest integer. */
    private void withMinimum(float[] x, int at, int bits) {
        int most = (1 << bits) - 1;
        float least = x[at];
        float largest = x[at];
        for (int i = at + 1; i < at + 32; i++) {
            least = x[i] < least ? x[i] : least; // of two zeros with different signs, the first is kept, as in ggml
            largest = x[i] > largest ? x[i] : largest;
        }
        float d = (largest - least) / most;
        float inverse = inverse(d);
        setHalf(0, d);
        setHalf(2, least);
        for (int i = 0; i < 32; i++) {
            quants[i] = Math.min(most, (int) ((x[at + i] - least) * inverse + 0.5f));
        }
        storePairs(4, bits);
    }

    /** Stores 32 integers: their fifth bits, if they have any, then their nibbles. */
    private void storePairs(int at, int bits) {
        int nibbles = bits == 5 ? at + 4 : at;
        for (int i = 0; i < 32; i++) {
            if (bits == 5) {
                block[at + i / 8] |= (byte) (quants[i] >> 4 << i % 8);
            }
            block[nibbles + i % 16] |= (byte) ((quants[i] & 15) << i / 16 * 4);
        }
    }

    /**
     * Rounds to Q2_K, Q4_K or Q5_K: first the scales and minima of parts to integers, then the weights with these integers.
     *
     * @param halves index of the factors of scales and minima
     * @param mostScale the largest integer of a scale or minimum, of 4 or 6 bits
     */
    private void withMinima(float[] x, int at, Search by, int halves, int mostScale) {
        int count = by.count();
        boolean isFourBits = mostScale == 15;
        float largestScale = 0;
        float largestMinimum = 0;
        for (int part = 0; part < 256 / count; part++) {
            scales[part] = rounding.affine(x, at + part * count, by);
            minima[part] = rounding.minimum();
            largestScale = Math.max(largestScale, scales[part]);
            largestMinimum = Math.max(largestMinimum, minima[part]);
        }
        float d = setHalf(halves, largestScale / mostScale);
        float dmin = setHalf(halves + 2, largestMinimum / mostScale);
        float inverseScale = largestScale > 0 ? mostScale / largestScale : 0;
        float inverseMinimum = largestMinimum > 0 ? mostScale / largestMinimum : 0;
        for (int part = 0; part < 256 / count; part++) {
            int scale = BlockRounding.nearest(inverseScale * scales[part], 0, mostScale);
            int minimum = BlockRounding.nearest(inverseMinimum * minima[part], 0, mostScale);
            if (isFourBits) {
                block[part] = (byte) (scale | minimum << 4);
            } else {
                storeScale(part, scale, minimum);
            }
            float step = d * scale;
            float offset = dmin * minimum;
            for (int i = part * count; i < part * count + count; i++) {
                quants[i] = step == 0 ? 0 : BlockRounding.nearest((x[at + i] + offset) / step, 0, by.most());
            }
        }
        if (isFourBits) {
            storePairsOfBits(16);
        } else {
            storeQuants(by == Search.Q5_K);
        }
    }

    private void storeScale(int part, int scale, int minimum) {
        if (part < 4) {
            block[4 + part] |= (byte) scale;
            block[8 + part] |= (byte) minimum;
        } else {
            block[8 + part] = (byte) (scale & 15 | (minimum & 15) << 4);
            block[part] |= (byte) (scale >> 4 << 6);
            block[4 + part] |= (byte) (minimum >> 4 << 6);
        }
    }

    private void storeQuants(boolean fiveBits) {
        int from = fiveBits ? 48 : 16;
        for (int i = 0; i < 256; i++) {
            int part = i / 32;
            block[from + part / 2 * 32 + i % 32] |= (byte) ((quants[i] & 15) << 4 * (part % 2));
            if (fiveBits) {
                block[16 + i % 32] |= (byte) (quants[i] >> 4 << part);
            }
        }
    }

    private void sixBits(float[] x, int at) {
        float largest = 0;
        for (int part = 0; part < 16; part++) {
            scales[part] = BlockRounding.symmetric(x, at + part * 16);
            largest = Math.abs(scales[part]) > Math.abs(largest) ? scales[part] : largest;
        }
        if (Math.abs(largest) < LEAST) {
            return;
        }
        float inverse = -128 / largest;
        float d = setHalf(208, 1 / inverse);
        for (int part = 0; part < 16; part++) {
            int scale = BlockRounding.nearest(inverse * scales[part], -128, 127);
            block[192 + part] = (byte) scale;
            float step = d * scale;
            for (int i = part * 16; i < part * 16 + 16; i++) {
                quants[i] = step == 0 ? 0 : BlockRounding.nearest(x[at + i] / step, -32, 31) + 32;
            }
        }
        for (int i = 0; i < 256; i++) {
            int half = i / 128;
            int quarter = i / 32 % 4;
            block[half * 64 + quarter % 2 * 32 + i % 32] |= (byte) ((quants[i] & 15) << 4 * (quarter / 2));
            block[128 + half * 32 + i % 32] |= (byte) (quants[i] >> 4 << 2 * quarter);
        }
    }

    private void threeBits(float[] x, int at) {
        float largest = 0;
        for (int part = 0; part < 16; part++) {
            scales[part] = rounding.threeBits(x, at + part * 16);
            largest = Math.abs(scales[part]) > Math.abs(largest) ? scales[part] : largest;
        }
        float inverse = largest == 0 ? 0 : -32 / largest;
        float d = setHalf(108, largest == 0 ? 0 : 1 / inverse);
        for (int part = 0; part < 16; part++) {
            int scale = largest == 0 ? -32 : BlockRounding.nearest(inverse * scales[part], -32, 31);
            block[96 + part % 8] |= (byte) ((scale + 32 & 15) << 4 * (part / 8));
            block[104 + part % 4] |= (byte) (scale + 32 >> 4 << 2 * (part / 4));
            float step = d * scale;
            for (int i = part * 16; i < part * 16 + 16; i++) {
                int q = step == 0 ? 0 : BlockRounding.nearest(x[at + i] / step, -4, 3) + 4;
                quants[i] = q & 3;
                block[i % 32] |= (byte) (q >> 2 << i / 32);
            }
        }
        storePairsOfBits(32);
    }

    private void storePairsOfBits(int at) {
        for (int i = 0; i < 256; i++) {
            block[at + i / 128 * 32 + i % 32] |= (byte) (quants[i] << i / 32 % 4 * 2);
        }
    }

    /**
     * Rounds to MXFP4: the largest weight has the largest exponent of E2M1. ggml computes the logarithm of this weight in f32, which
     * rounds up the logarithm of a number just below a power of two. ggml defines no result for a scale below {@code 2^-127}, which is
     * the smallest scale here.
     */
    private void powerOfTwo(float[] x, int at) {
        float largest = Math.abs(BlockRounding.largest(x, at, 32));
        int exponent = (int) Math.floor((float) (StrictMath.log(largest) / StrictMath.log(2)));
        int e = largest > 0 ? Math.max(0, exponent - 2 + 127) : 0;
        block[0] = (byte) e;
        for (int i = 0; i < 32; i++) {
            quants[i] = CodeBook.E2M1.nearest(x[at + i], CodeBook.halfPower(e));
        }
        storePairs(1, 4);
    }

    private void codes(float[] x, int at) {
        float d = rounding.codes(x, at);
        float inverse = inverse(d);
        setHalf(0, d);
        for (int i = 0; i < 32; i++) {
            quants[i] = CodeBook.IQ4.nearest(inverse * x[at + i]);
        }
        storePairs(2, 4);
    }

    private void codesWithScales(float[] x, int at) {
        float largest = 0;
        for (int part = 0; part < 8; part++) {
            scales[part] = rounding.codes(x, at + part * 32);
            largest = Math.abs(scales[part]) > Math.abs(largest) ? scales[part] : largest;
        }
        float d = -largest / 32;
        setHalf(0, d);
        float inverse = inverse(d);
        for (int part = 0; part < 8; part++) {
            int scale = BlockRounding.nearest(inverse * scales[part], -32, 31);
            float inverseStep = inverse(d * scale);
            for (int i = 0; i < 32; i++) {
                quants[i] = CodeBook.IQ4.nearest(inverseStep * x[at + part * 32 + i]);
            }
            storePairs(8 + part * 16, 4);
            int stored = scale + 32;
            block[2 + part / 4] |= (byte) (stored >> 4 << 2 * (part % 4));
            block[4 + part / 2] |= (byte) ((stored & 15) << 4 * (part % 2));
        }
    }

    /** Stores a binary16, and returns its value; fails if the scale is too large for one. */
    private float setHalf(int at, float scale) {
        short bits = Float.floatToFloat16(scale);
        float held = Float.float16ToFloat(bits);
        if (Float.isInfinite(held)) {
            throw tooLarge("a scale or minimum of " + scale);
        }
        memory.set(SHORT, at, bits);
        return held;
    }

    private static IllegalArgumentException tooLarge(String found) {
        return Checks.fail("from", found, "expected scales and minima of at most 65504, the largest f16");
    }
}

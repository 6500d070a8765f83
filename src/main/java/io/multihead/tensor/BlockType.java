package io.multihead.tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The layout of a block of quantized weights, as in ggml and GGUF files. A block is a run of consecutive elements of
 * one row that share their scales. Weights of these types are a {@link BlockTensor}.
 *
 * <p>Scales {@code d} and {@code dmin} are IEEE 754 binary16, and all numbers are little-endian on every machine. The value of an element
 * is the f32 that ggml's formula gives. Each product of the formula is exact in f32, so a value is rounded at most once: at the subtraction
 * of {@link #Q2_K}, {@link #Q4_K} and {@link #Q5_K}, or the addition of {@link #Q4_1} and {@link #Q5_1}. Only the largest scales of {@link
 * #MXFP4} have products that f32 does not hold; these products are infinite.
 *
 * @see <a href="https://github.com/ggml-org/ggml/blob/master/docs/gguf.md">GGUF</a>
 */
public enum BlockType {
    /** 32 elements in 34 bytes: {@code d}, then 32 signed bytes {@code q}; {@code d * q}. */
    Q8_0(32, 34) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            for (int i = 0; i < 32; i++) {
                to[index + i] = d * memory.get(ValueLayout.JAVA_BYTE, at + 2 + i);
            }
        }
    },
    /** 32 elements in 18 bytes: {@code d}, then 16 bytes of which byte i holds elements i (low) and i + 16; {@code d * (q - 8)}. */
    Q4_0(32, 18) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            for (int i = 0; i < 16; i++) {
                int pair = unsigned(memory, at + 2 + i);
                to[index + i] = d * ((pair & 15) - 8);
                to[index + 16 + i] = d * ((pair >> 4) - 8);
            }
        }
    },
    /** 32 elements in 20 bytes: {@code d}, a binary16 {@code m}, then 16 bytes as in {@link #Q4_0}; {@code d * q + m}. */
    Q4_1(32, 20) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            float m = half(memory, at + 2);
            for (int i = 0; i < 32; i++) {
                to[index + i] = d * nibble(memory, at + 4 + i % 16, i / 16) + m;
            }
        }
    },
    /**
     * 32 elements in 22 bytes: {@code d}, 4 bytes of fifth bits, with element i in bit i, then 16 bytes as in {@link #Q4_0};
     * {@code d * (q - 16)}. Files of k-quants have it for rows that are not a multiple of 256.
     */
    Q5_0(32, 22) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            for (int i = 0; i < 32; i++) {
                to[index + i] = d * (fiveBits(memory, at + 2, i) - 16);
            }
        }
    },
    /** 32 elements in 24 bytes: {@code d}, a binary16 {@code m}, then 20 bytes as in {@link #Q5_0}; {@code d * q + m}. */
    Q5_1(32, 24) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            float m = half(memory, at + 2);
            for (int i = 0; i < 32; i++) {
                to[index + i] = d * fiveBits(memory, at + 4, i) + m;
            }
        }
    },
    /**
     * 256 elements in 144 bytes: {@code d}, {@code dmin}, 12 bytes of eight 6-bit scales {@code s} and minima {@code m}, 128 bytes of
     * nibbles; {@code d * s * q - dmin * m} with one scale and one minimum per 32 elements.
     */
    Q4_K(256, 144) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            float dmin = half(memory, at + 2);
            for (int part = 0; part < 8; part++) {
                float scale = d * scale(memory, at + 4, part);
                float least = dmin * minimum(memory, at + 4, part);
                long quants = at + 16 + part / 2 * 32;
                for (int i = 0; i < 32; i++) {
                    to[index + part * 32 + i] = scale * nibble(memory, quants + i, part & 1) - least;
                }
            }
        }
    },
    /** 256 elements in 176 bytes: as {@link #Q4_K}, with 32 bytes of fifth bits before the nibbles. */
    Q5_K(256, 176) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            float dmin = half(memory, at + 2);
            for (int part = 0; part < 8; part++) {
                float scale = d * scale(memory, at + 4, part);
                float least = dmin * minimum(memory, at + 4, part);
                long quants = at + 48 + part / 2 * 32;
                for (int i = 0; i < 32; i++) {
                    int high = unsigned(memory, at + 16 + i) >> part & 1;
                    int q = nibble(memory, quants + i, part & 1) | high << 4;
                    to[index + part * 32 + i] = scale * q - least;
                }
            }
        }
    },
    /**
     * 256 elements in 210 bytes: 128 bytes of low nibbles, 64 bytes of high pairs of bits, 16 signed bytes of scales {@code s}, one per
     * 16 elements, then {@code d}; {@code d * s * (q - 32)}.
     */
    Q6_K(256, 210) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at + 208);
            for (int part = 0; part < 16; part++) {
                float scale = d * memory.get(ValueLayout.JAVA_BYTE, at + 192 + part);
                // a half of 128 elements has four quarters of 32: two quarters share 32 bytes of nibbles, and all four
                // share 32 bytes of pairs
                int half = part / 8;
                int quarter = part / 2 % 4;
                long nibbles = at + half * 64 + quarter % 2 * 32 + part % 2 * 16;
                long pairs = at + 128 + half * 32 + part % 2 * 16;
                for (int i = 0; i < 16; i++) {
                    int high = unsigned(memory, pairs + i) >> 2 * quarter & 3;
                    int q = nibble(memory, nibbles + i, quarter / 2) | high << 4;
                    to[index + part * 16 + i] = scale * (q - 32);
                }
            }
        }
    },
    /**
     * 256 elements in 110 bytes: 32 bytes of high bits, where byte i holds the bits of elements i, i + 32 and so on from the lowest up, 64 bytes
     * of low pairs of bits, 12 bytes of sixteen 6-bit scales {@code s}, one per 16 elements, then {@code d}; {@code d * (s - 32) * (q - 4)}.
     */
    Q3_K(256, 110) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at + 108);
            for (int part = 0; part < 16; part++) {
                int low = nibble(memory, at + 96 + part % 8, part / 8);
                int high = unsigned(memory, at + 104 + part % 4) >> 2 * (part / 4) & 3;
                float scale = d * ((low | high << 4) - 32);
                for (int i = 0; i < 16; i++) {
                    int element = part * 16 + i;
                    int top = unsigned(memory, at + element % 32) >> element / 32 & 1;
                    to[index + element] = scale * ((pairOfBits(memory, at + 32, element) | top << 2) - 4);
                }
            }
        }
    },
    /**
     * 256 elements in 84 bytes: 16 bytes of 4-bit scales {@code s} (low) and minima {@code m}, one per 16 elements, 64 bytes of pairs of bits,
     * {@code d}, then {@code dmin}; {@code d * s * q - dmin * m}.
     */
    Q2_K(256, 84) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at + 80);
            float dmin = half(memory, at + 82);
            for (int part = 0; part < 16; part++) {
                float scale = d * nibble(memory, at + part, 0);
                float least = dmin * nibble(memory, at + part, 1);
                for (int i = 0; i < 16; i++) {
                    int element = part * 16 + i;
                    to[index + element] = scale * pairOfBits(memory, at + 16, element) - least;
                }
            }
        }
    },
    /**
     * 32 elements in 17 bytes: E8M0, a byte {@code e}, then 16 bytes of E2M1 as in {@link #Q4_0}: a sign, two bits of exponent and one of
     * fraction, for 0, 0.5, 1, 1.5, 2, 3, 4 and 6; {@code 2^(e - 127)} times the number. The experts of GPT-OSS have this type.
     *
     * @see <a href="https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf">OCP Microscaling Formats</a>
     */
    MXFP4(32, 17) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float half = CodeBook.halfPower(unsigned(memory, at));
            for (int i = 0; i < 32; i++) {
                to[index + i] = half * CodeBook.E2M1.value(nibble(memory, at + 1 + i % 16, i / 16));
            }
        }
    },
    /** 32 elements in 18 bytes: {@code d}, then 16 bytes as in {@link #Q4_0}; {@code d} times one of 16 numbers from -127 to 113. */
    IQ4_NL(32, 18) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            for (int i = 0; i < 32; i++) {
                to[index + i] = d * CodeBook.IQ4.value(nibble(memory, at + 2 + i % 16, i / 16));
            }
        }
    },
    /**
     * 256 elements in 136 bytes: {@code d}, 2 bytes of the high pairs of bits of eight 6-bit scales {@code s}, 4 bytes of their low
     * nibbles, then 128 bytes, 16 for each 32 elements as in {@link #IQ4_NL}; {@code d * (s - 32)} times the number.
     */
    IQ4_XS(256, 136) {
        @Override
        void widen(MemorySegment memory, long at, float[] to, int index) {
            float d = half(memory, at);
            int high = memory.get(SHORT, at + 2);
            for (int part = 0; part < 8; part++) {
                int s = nibble(memory, at + 4 + part / 2, part & 1) | (high >> 2 * part & 3) << 4;
                float scale = d * (s - 32);
                for (int i = 0; i < 32; i++) {
                    int code = nibble(memory, at + 8 + part * 16 + i % 16, i / 16);
                    to[index + part * 32 + i] = scale * CodeBook.IQ4.value(code);
                }
            }
        }
    };

    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final int elements;
    private final int bytes;

    BlockType(int elements, int bytes) {
        this.elements = elements;
        this.bytes = bytes;
    }

    /** {@return the number of elements of a block, 32 or 256; a row is a whole number of blocks} */
    public int elements() {
        return elements;
    }

    /** {@return the bytes of a block} */
    public int bytes() {
        return bytes;
    }

    /** Stores the elements of the block at a byte of the memory, from an index of an array on. */
    abstract void widen(MemorySegment memory, long at, float[] to, int index);

    private static float half(MemorySegment memory, long at) {
        return Float.float16ToFloat(memory.get(SHORT, at));
    }

    private static int unsigned(MemorySegment memory, long at) {
        return memory.get(ValueLayout.JAVA_BYTE, at) & 255;
    }

    /** Returns the low nibble of a byte if {@code high} is 0, or the high nibble if {@code high} is 1. */
    private static int nibble(MemorySegment memory, long at, int high) {
        return unsigned(memory, at) >> 4 * high & 15;
    }

    /** Returns the two bits of an element: 128 elements are in 32 bytes, the first 32 elements in the lowest pairs. */
    private static int pairOfBits(MemorySegment memory, long at, int element) {
        return unsigned(memory, at + element / 128 * 32 + element % 32) >> element / 32 % 4 * 2 & 3;
    }

    /** Returns element i of 4 bytes of fifth bits and 16 bytes of nibbles. */
    private static int fiveBits(MemorySegment memory, long at, int i) {
        int fifth = unsigned(memory, at + i / 8) >> i % 8 & 1;
        return nibble(memory, at + 4 + i % 16, i / 16) | fifth << 4;
    }

    /** Returns scale {@code part} of eight from the 12 bytes of scales and minima: the first four are stored whole, the others in two pieces. */
    private static int scale(MemorySegment memory, long at, int part) {
        return part < 4
                ? unsigned(memory, at + part) & 63
                : unsigned(memory, at + part + 4) & 15 | unsigned(memory, at + part - 4) >> 6 << 4;
    }

    /** Returns minimum {@code part} of eight. */
    private static int minimum(MemorySegment memory, long at, int part) {
        return part < 4
                ? unsigned(memory, at + part + 4) & 63
                : unsigned(memory, at + part + 4) >> 4 | unsigned(memory, at + part) >> 6 << 4;
    }
}

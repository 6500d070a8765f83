package io.multihead.internal.layout;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.BitFields;
import io.multihead.internal.kernel.BitFields4Table;
import io.multihead.internal.kernel.BitFields8;

/** The numbers of one block of ggml, read from its bytes: elements as integers, and scales in their stored form. Belongs to one thread. */
abstract class QuantizedBlock {
    private static final int F16_EXPONENT = 0x7c00;
    private static final byte[] NONE = {};

    /** Bits of the f16 scale, or of a bf16 scale. */
    short d;
    /** Bits of the f16 scale of mins, or of the minimum itself. */
    short dmin;
    /** Small integers: scales of parts of the block, then mins. */
    final byte[] small;

    private QuantizedBlock(byte[] small) {
        this.small = small;
    }

    /** Reads a block at a byte; elements are the numbers that a scale multiplies. */
    abstract void read(byte[] from, int at, int[] elements);

    /** Reads scales, and stores elements as fields, from a word of a panel on; {@code elements} are overwritten. */
    void pack(byte[] from, int at, BitFields to, int[] elements, int[] words, int w0) {
        read(from, at, elements);
        int word = w0;
        for (int k = 0; k < elements.length; k += BitFields.ROWS) {
            to.addOffsets(elements, k);
            to.store(elements, k, words, word);
            word += to.words() * PANEL;
        }
    }

    boolean isFinite() {
        return (d & F16_EXPONENT) != F16_EXPONENT && (dmin & F16_EXPONENT) != F16_EXPONENT;
    }

    static short half(byte[] from, int at) {
        return (short) (from[at] & 255 | from[at + 1] << 8);
    }

    static final class Bytes extends QuantizedBlock {
        Bytes() {
            super(NONE);
        }

        @Override
        void read(byte[] from, int at, int[] elements) {
            d = half(from, at);
            for (int i = 0; i < 32; i++) {
                elements[i] = from[at + 2 + i];
            }
        }

        /** Stores four bytes at a time: they are the fields of a word, except for one bit of each byte. Most large files have such types. */
        @Override
        void pack(byte[] from, int at, BitFields to, int[] elements, int[] words, int w0) {
            d = half(from, at);
            BitFields8.storeBytes(from, at + 2, words, w0);
        }
    }

    /** 32 elements of 4 bits, or of 5 bits with the fifth bits first: signed, or unsigned with a minimum. */
    static final class Nibbles extends QuantizedBlock {
        private final boolean hasFifth;
        private final boolean hasMinimum;

        Nibbles(boolean hasFifth, boolean hasMinimum) {
            super(NONE);
            this.hasFifth = hasFifth;
            this.hasMinimum = hasMinimum;
        }

        @Override
        void read(byte[] from, int at, int[] elements) {
            d = half(from, at);
            dmin = hasMinimum ? half(from, at + 2) : 0;
            int fifths = hasMinimum ? at + 4 : at + 2;
            int nibbles = hasFifth ? fifths + 4 : fifths;
            int zero = hasMinimum ? 0 : hasFifth ? 16 : 8;
            for (int i = 0; i < 16; i++) {
                int pair = from[nibbles + i];
                elements[i] = (pair & 15) - zero;
                elements[i + 16] = (pair >> 4 & 15) - zero;
            }
            for (int i = 0; hasFifth && i < 32; i++) {
                elements[i] += (from[fifths + i / 8] >> i % 8 & 1) << 4;
            }
        }
    }

    /** Blocks with 6-bit scales and mins: of 4 bits, or of 5 bits with the fifth bits stored separately. */
    static final class Mins extends QuantizedBlock {
        private final boolean hasFifth;

        Mins(boolean hasFifth) {
            super(new byte[16]);
            this.hasFifth = hasFifth;
        }

        @Override
        void read(byte[] from, int at, int[] elements) {
            d = half(from, at);
            dmin = half(from, at + 2);
            for (int i = 0; i < 4; i++) {
                int scale = from[at + 4 + i];
                int minimum = from[at + 8 + i];
                int low = from[at + 12 + i];
                small[i] = (byte) (scale & 63);
                small[i + 4] = (byte) (low & 15 | (scale & 0xc0) >> 2);
                small[i + 8] = (byte) (minimum & 63);
                small[i + 12] = (byte) (low >> 4 & 15 | (minimum & 0xc0) >> 2);
            }
            int fifth = at + 16;
            int nibbles = hasFifth ? fifth + 32 : fifth;
            for (int part = 0; part < 4; part++) {
                for (int i = 0; i < 32; i++) {
                    int pair = from[nibbles + part * 32 + i];
                    elements[part * 64 + i] = pair & 15;
                    elements[part * 64 + 32 + i] = pair >> 4 & 15;
                }
            }
            for (int part = 0; hasFifth && part < 8; part++) {
                for (int i = 0; i < 32; i++) {
                    elements[part * 32 + i] |= (from[fifth + i] >> part & 1) << 4;
                }
            }
        }
    }

    static final class Sixes extends QuantizedBlock {
        Sixes() {
            super(new byte[16]);
        }

        @Override
        void read(byte[] from, int at, int[] elements) {
            System.arraycopy(from, at + 192, small, 0, 16);
            d = half(from, at + 208);
            for (int half = 0; half < 2; half++) {
                for (int i = 0; i < 32; i++) {
                    int first = from[at + half * 64 + i];
                    int second = from[at + half * 64 + 32 + i];
                    int high = from[at + 128 + half * 32 + i];
                    int to = half * 128 + i;
                    elements[to] = (first & 15 | (high & 3) << 4) - 32;
                    elements[to + 32] = (second & 15 | (high >> 2 & 3) << 4) - 32;
                    elements[to + 64] = (first >> 4 & 15 | (high >> 4 & 3) << 4) - 32;
                    elements[to + 96] = (second >> 4 & 15 | (high >> 6 & 3) << 4) - 32;
                }
            }
        }
    }

    /**
     * Sixteen scales of 6 bits, and elements of 3 bits: the pairs of low bits of four elements in a byte, and the high bits of eight
     * elements in another byte.
     */
    static final class Threes extends QuantizedBlock {
        Threes() {
            super(new byte[16]);
        }

        @Override
        void read(byte[] from, int at, int[] elements) {
            d = half(from, at + 108);
            for (int part = 0; part < 16; part++) {
                int low = from[at + 96 + part % 8] >> part / 8 * 4 & 15;
                int high = from[at + 104 + part % 4] >> part / 4 * 2 & 3;
                small[part] = (byte) ((low | high << 4) - 32);
            }
            for (int i = 0; i < 256; i++) {
                int pair = pairOfBits(from, at + 32, i);
                elements[i] = (pair | (from[at + i % 32] >> i / 32 & 1) << 2) - 4;
            }
        }
    }

    /** Sixteen scales and minima of 4 bits each, and elements of 2 bits. */
    static final class Twos extends QuantizedBlock {
        Twos() {
            super(new byte[32]);
        }

        @Override
        void read(byte[] from, int at, int[] elements) {
            d = half(from, at + 80);
            dmin = half(from, at + 82);
            for (int part = 0; part < 16; part++) {
                small[part] = (byte) (from[at + part] & 15);
                small[part + 16] = (byte) (from[at + part] >> 4 & 15);
            }
            for (int i = 0; i < 256; i++) {
                elements[i] = pairOfBits(from, at + 16, i);
            }
        }
    }

    private static int pairOfBits(byte[] from, int at, int element) {
        return from[at + element / 128 * 32 + element % 32] >> element / 32 % 4 * 2 & 3;
    }

    /** 32 codes with a scale. The scale is an f16 of two bytes, or an E8M0 of one byte, which becomes the bf16 of half its value. */
    static final class Codes extends QuantizedBlock {
        private static final int NAN = 255;
        private final BitFields4Table table;
        private final int scaleBytes;
        private boolean isNan;

        Codes(BitFields4Table table, int scaleBytes) {
            super(NONE);
            this.table = table;
            this.scaleBytes = scaleBytes;
        }

        @Override
        void read(byte[] from, int at, int[] elements) {
            int e = from[at] & 255;
            isNan = scaleBytes == 1 && e == NAN;
            d = scaleBytes == 1 ? halfPower(e) : half(from, at);
            table.elements(from, at + scaleBytes, elements, 0);
        }

        /** Returns the bf16 of {@code 2^(e - 128)}, which is subnormal where e is 0 or 1. */
        private static short halfPower(int e) {
            return (short) (e < 2 ? 0x20 << e : e - 1 << 7);
        }

        /** Returns whether the scales are finite. E8M0 has a code for NaN, and no code for infinity. */
        @Override
        boolean isFinite() {
            return scaleBytes == 1 ? !isNan : super.isFinite();
        }
    }

    /** 256 codes with eight scales of 6 bits: the high pairs in two bytes, the low nibbles in four. */
    static final class CodesOfEight extends QuantizedBlock {
        private final BitFields4Table table = BitFields4Table.iq4();

        CodesOfEight() {
            super(new byte[8]);
        }

        @Override
        void read(byte[] from, int at, int[] elements) {
            d = half(from, at);
            int high = half(from, at + 2);
            for (int part = 0; part < 8; part++) {
                int low = from[at + 4 + part / 2] >> 4 * (part % 2) & 15;
                small[part] = (byte) ((low | (high >> 2 * part & 3) << 4) - 32);
                table.elements(from, at + 8 + part * 16, elements, part * 32);
            }
        }
    }
}

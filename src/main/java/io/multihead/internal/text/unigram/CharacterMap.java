package io.multihead.internal.text.unigram;

import io.multihead.internal.base.Checks;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * SentencePiece's precompiled map of characters: sequences of UTF-8 and their replacements. A file has a size in bytes, a double array (Aoe
 * 1989, in the form of Yata's darts-clone) of that size, and texts that end with a byte of 0.
 *
 * <p>A unit of the array has a label in the low 8 bits, a flag for a value in bit 8, and the distance to its children, as an exclusive or,
 * in the other bits; a unit with bit 31 is a value, an index of the texts. All units that the root can reach are checked when a map is
 * made, so that reading stays within the arrays. Immutable and thread-safe.
 */
public final class CharacterMap {
    /** The result of a search without a match. */
    public static final long NONE = -1;

    /** A map without sequences. */
    public static final CharacterMap EMPTY = new CharacterMap(new int[0], new byte[0]);

    /** The largest number of bytes of a sequence; sequences of SentencePiece's own maps have up to 18. */
    private static final int LONGEST = 256;

    /** The largest number of bytes of a text; the longest text of SentencePiece's own maps, for U+FDFA, has 33. */
    private static final int LONGEST_TEXT = 1024;

    private static final int LABELS = 256;
    private static final int VALUE_BIT = 1 << 8;
    private static final int LABEL_MASK = 1 << 31 | 0xff;

    private final int[] units;
    private final byte[] texts;

    private CharacterMap(int[] units, byte[] texts) {
        this.units = units;
        this.texts = texts;
    }

    /**
     * Reads a map.
     *
     * @throws IllegalArgumentException if a size, a distance, an index or a text is not as described
     */
    public static CharacterMap of(byte[] file, String name) {
        if (file.length == 0) {
            return EMPTY;
        }
        ByteBuffer in = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        long size = file.length < Integer.BYTES ? 0 : Integer.toUnsignedLong(in.getInt());
        long most = file.length - (long) Integer.BYTES;
        if (size < LABELS * (long) Integer.BYTES || size > most || size % (LABELS * (long) Integer.BYTES) != 0) {
            throw Checks.fail(
                    name,
                    file.length + " bytes with an array of " + size,
                    "expected 1024 to " + most + ", a multiple of 1024");
        }
        int[] units = new int[(int) (size / Integer.BYTES)];
        in.asIntBuffer().get(units);
        in.position(in.position() + (int) size);
        byte[] texts = new byte[in.remaining()];
        in.get(texts);
        requireUtf8(texts, name);
        CharacterMap map = new CharacterMap(units, texts);
        map.new Walk(name).check(0, 0);
        return map;
    }

    private static void requireUtf8(byte[] texts, String name) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(texts));
        } catch (CharacterCodingException malformed) {
            throw Checks.fail(name, "texts that are no UTF-8", "expected texts in UTF-8");
        }
    }

    /** Visits each unit that the root reaches, once. */
    private final class Walk {
        private static final short OPEN = -1;

        private final String name;
        /** By unit: one more than the bytes of the longest sequence below it, or 0. */
        private final short[] heights = new short[units.length];

        Walk(String name) {
            this.name = name;
        }

        /** Checks the units below a unit, and returns its height; a unit below itself would form infinite sequences. */
        int check(int index, int depth) {
            if (heights[index] > 0) {
                return heights[index];
            }
            boolean endless = heights[index] == OPEN || depth > LONGEST;
            heights[index] = OPEN;
            int children = endless ? 0 : children(index);
            int height = endless ? LONGEST + 1 : 0;
            for (int label = 1; label < LABELS && height <= LONGEST; label++) {
                if ((units[children ^ label] & LABEL_MASK) == label) {
                    height = Math.max(height, check(children ^ label, depth + 1));
                }
            }
            if (height > LONGEST) {
                throw Checks.fail(name, "sequences of more than " + LONGEST + " bytes", "expected at most " + LONGEST);
            }
            heights[index] = (short) (height + 1);
            return heights[index];
        }

        private int children(int index) {
            int unit = units[index];
            int children = index ^ distance(unit);
            // labels change the low 8 bits, and the length is a multiple of 256
            if (children < 0 || children >= units.length) {
                throw Checks.fail(name, "children at unit " + children, "expected 0 to " + (units.length - 1));
            }
            if ((unit & VALUE_BIT) != 0) {
                checkText(units[children] & Integer.MAX_VALUE);
            }
            return children;
        }

        private void checkText(int at) {
            boolean within = at < texts.length;
            // bytes below 0xc0 that are not ASCII continue a code point
            if (!within || texts[at] < (byte) 0xc0) {
                throw Checks.fail(
                        name,
                        "a text at byte " + at + (within ? ", within a code point" : ""),
                        "expected one of the " + texts.length + " bytes");
            }
            int length = 0;
            while (next(at + length) != 0) {
                if (length++ == LONGEST_TEXT) {
                    throw Checks.fail(
                            name, "a text of more than " + LONGEST_TEXT + " bytes", "expected at most " + LONGEST_TEXT);
                }
            }
        }
    }

    private static int distance(int unit) {
        return unit >>> 10 << ((unit & 1 << 9) >>> 6);
    }

    /**
     * Returns the match of the shortest sequence at a place, as in HuggingFace's crate: the index of its text in the high half and its
     * length in the low half.
     */
    long shortest(byte[] text, int from, int end) {
        return find(text, from, end, true);
    }

    /** Returns the match of the longest sequence at a place, as in SentencePiece, in the form of {@link #shortest}. */
    public long longest(byte[] text, int from, int end) {
        return find(text, from, end, false);
    }

    private long find(byte[] text, int from, int end, boolean first) {
        long found = NONE;
        if (units.length == 0) {
            return found;
        }
        int at = distance(units[0]);
        for (int i = from; i < end && text[i] != 0; i++) {
            int label = text[i] & 0xff;
            int unit = units[at ^ label];
            if ((unit & LABEL_MASK) != label) {
                return found;
            }
            at ^= label ^ distance(unit);
            if ((unit & VALUE_BIT) != 0) {
                found = (long) (units[at] & Integer.MAX_VALUE) << Integer.SIZE | i + 1 - from;
                if (first) {
                    return found;
                }
            }
        }
        return found;
    }

    /** Returns the number of bytes of the text that a match replaces. */
    public static int length(long match) {
        return (int) match;
    }

    /** Returns the next byte of a match's text from its first on, or 0 at its end. */
    private byte next(int at) {
        return at < texts.length ? texts[at] : 0;
    }

    /** Returns whether the text of a match is one space. */
    boolean isSpace(long match) {
        int at = (int) (match >> Integer.SIZE);
        return next(at) == ' ' && next(at + 1) == 0;
    }

    public void copyText(long match, UnigramBuffer to, int origin) {
        for (int at = (int) (match >> Integer.SIZE); next(at) != 0; at++) {
            if (isMark(at)) {
                to.put(UnigramBuffer.MARK, origin);
                at += 2;
            } else {
                to.put(texts[at], origin);
            }
        }
    }

    private boolean isMark(int at) {
        return texts[at] == (byte) 0xe2 && next(at + 1) == (byte) 0x96 && next(at + 2) == (byte) 0x81;
    }
}

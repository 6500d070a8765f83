package io.multihead.internal.text.unigram;

import io.multihead.internal.text.unicode.CharacterTable;
import io.multihead.internal.text.unicode.Utf8;
import java.util.Arrays;

/**
 * The scratch memory of one call of a Unigram tokenizer: a part of the text as UTF-8, its normalized form, and the best ways to each byte of a
 * word. Reused from call to call; not thread-safe.
 */
public final class UnigramBuffer {
    /** The index of the first byte of the normalized text. A mark may be stored before it. */
    public static final int START = 1;
    /** U+2581, which represents a space, in one byte that UTF-8 does not have. */
    public static final byte MARK = (byte) 0xff;

    private static final int MARKED = 0x2581;
    /** By the number of bytes of a code point: the bits that identify this number. */
    private static final int[] LEADS = {0, 0, 0xc0, 0xe0, 0xf0};

    private static final int FEW = 256;
    /** Arrays for longer texts are not kept. */
    private static final int MOST_KEPT = 1 << 18;

    byte[] source = new byte[FEW];
    int sourceEnd;

    public byte[] text = new byte[FEW];
    /** For each byte, and the end: the index in the whole text of the first {@code char} from which it comes. */
    public int[] origins = new int[FEW];

    public int end;

    /** By the bytes before a place in a word: the best sum of scores, the beginning of its last piece, and that piece. */
    double[] best = new double[FEW];

    public int[] starts = new int[FEW];
    public int[] ids = new int[FEW];

    /** The added token that was found, and its beginning and end including the white space that it strips. */
    public int match;

    public int matchStart;
    public int matchEnd;

    /** Takes a part of a text. */
    public void read(char[] chars, int from, int to) {
        int most = Math.multiplyExact(Utf8.MOST_PER_CHAR, to - from);
        if (most > source.length) {
            source = new byte[Math.max(most, Math.min(2 * source.length, MOST_KEPT))];
        }
        sourceEnd = Utf8.encode(chars, from, to, source);
        end = START;
    }

    /** Adds a byte of normalized text. */
    void put(byte next, int origin) {
        if (end + 1 >= text.length) {
            grow(2L * text.length);
        }
        origins[end] = origin;
        text[end++] = next;
    }

    /** Adds a code point of normalized text. */
    void putCodePoint(int codePoint, int origin) {
        if (codePoint < 0x80) {
            put((byte) codePoint, origin);
        } else if (codePoint == MARKED) {
            put(MARK, origin);
        } else {
            int bytes = Utf8.length(codePoint);
            put((byte) (LEADS[bytes] | codePoint >> 6 * (bytes - 1)), origin);
            for (int rest = bytes - 2; rest >= 0; rest--) {
                put((byte) (0x80 | codePoint >> 6 * rest & 0x3f), origin);
            }
        }
    }

    /** Reserves room for bytes that will be written. */
    void lengthen(long bytes) {
        long longer = end + bytes;
        if (longer + 1 >= text.length) {
            grow(longer + 2);
        }
        end = Math.toIntExact(longer);
    }

    private void grow(long length) {
        int longer = (int) Math.min(Integer.MAX_VALUE - 8, length);
        text = Arrays.copyOf(text, longer);
        origins = Arrays.copyOf(origins, longer);
    }

    /** Ends the normalized text at an index of the whole text. */
    void finish(int origin) {
        origins[end] = origin;
    }

    /** Makes room for the ways through a word. */
    void reserve(int length) {
        if (length >= best.length) {
            int longer = (int) Math.max(length + 1L, Math.min(2L * best.length, MOST_KEPT));
            best = new double[longer];
            starts = new int[longer];
            ids = new int[longer];
        }
    }

    /** Returns the number of bytes of the code point, or mark, at a place of the normalized text. */
    public int length(int at) {
        return text[at] == MARK ? 1 : Utf8.length(text[at]);
    }

    /** Returns the number of bytes of the white space at a place of the normalized text, or 0. */
    public int spaceLength(int at) {
        byte first = text[at];
        if (first >= 0) {
            return first == ' ' || first >= '\t' && first <= '\r' ? 1 : 0;
        }
        return first != MARK && CharacterTable.isSpace(Utf8.codePoint(text, at)) ? Utf8.length(first) : 0;
    }

    /** Returns the beginning of the code point, or mark, before a place of the normalized text. */
    public int before(int at) {
        int first = at - 1;
        while (text[first] < (byte) 0xc0) {
            first--;
        }
        return first;
    }

    /** Returns the index in the whole text after the last {@code char} from which the byte before a place comes. */
    public int originEnd(int at) {
        int next = at;
        while (next < end && origins[next] == origins[at - 1]) {
            next++;
        }
        return origins[next];
    }

    public boolean isKept() {
        return source.length <= MOST_KEPT && text.length <= MOST_KEPT && best.length <= MOST_KEPT;
    }
}

package io.multihead.internal.text.unicode;

/** Code points of valid UTF-8. */
public final class Utf8 {
    private static final int REPLACEMENT = 0xfffd;
    /** The largest number of bytes of a code point for each {@code char}. */
    public static final int MOST_PER_CHAR = 3;

    private Utf8() {}

    /** Returns the number of bytes of the code point that begins with a byte. */
    public static int length(byte first) {
        return first >= 0 ? 1 : first < (byte) 0xe0 ? 2 : first < (byte) 0xf0 ? 3 : 4;
    }

    /** Returns the number of bytes of a code point; an unpaired surrogate has the bytes of U+FFFD. */
    public static int length(int codePoint) {
        return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
    }

    /** Returns the number of {@code char}s of the code point that begins with a byte. */
    public static int chars(byte first) {
        return first < 0 && first >= (byte) 0xf0 ? 2 : 1;
    }

    public static int codePoint(byte[] text, int at) {
        byte first = text[at];
        return switch (length(first)) {
            case 1 -> first;
            case 2 -> (first & 0x1f) << 6 | text[at + 1] & 0x3f;
            case 3 -> (first & 0xf) << 12 | (text[at + 1] & 0x3f) << 6 | text[at + 2] & 0x3f;
            default ->
                (first & 7) << 18 | (text[at + 1] & 0x3f) << 12 | (text[at + 2] & 0x3f) << 6 | text[at + 3] & 0x3f;
        };
    }

    /**
     * Writes a text as UTF-8, with unpaired surrogates as U+FFFD, and returns the end.
     *
     * @param to receives the bytes, with room for {@link #MOST_PER_CHAR} bytes for each {@code char}
     */
    public static int encode(char[] text, int from, int end, byte[] to) {
        int size = 0;
        for (int i = from; i < end; ) {
            char c = text[i];
            if (c < 0x80) {
                to[size++] = (byte) c;
                i++;
                continue;
            }
            int codePoint = Character.codePointAt(text, i, end);
            i += Character.charCount(codePoint);
            boolean unpaired = codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
            size = put(unpaired ? REPLACEMENT : codePoint, to, size);
        }
        return size;
    }

    private static int put(int codePoint, byte[] to, int at) {
        int size = at;
        if (codePoint < 0x800) {
            to[size++] = (byte) (0xc0 | codePoint >> 6);
        } else {
            if (codePoint < 0x10000) {
                to[size++] = (byte) (0xe0 | codePoint >> 12);
            } else {
                to[size++] = (byte) (0xf0 | codePoint >> 18);
                to[size++] = (byte) (0x80 | codePoint >> 12 & 0x3f);
            }
            to[size++] = (byte) (0x80 | codePoint >> 6 & 0x3f);
        }
        to[size++] = (byte) (0x80 | codePoint & 0x3f);
        return size;
    }
}

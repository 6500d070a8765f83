package io.multihead.internal.text.unigram;

import io.multihead.internal.text.unicode.Utf8;

/** Makes the normalized text of a {@link UnigramBuffer} from its source. */
public interface UnigramNormalizer {
    /**
     * Normalizes one part of a text.
     *
     * @param buffer the buffer whose source is normalized
     * @param origin the index in the whole text of the first {@code char} of the source
     */
    void normalize(UnigramBuffer buffer, int origin);

    /** Adds the code point at a place of the source, and returns its number of bytes. */
    static int copy(UnigramBuffer buffer, int at, int origin) {
        byte[] source = buffer.source;
        int length = Utf8.length(source[at]);
        if (length == 3
                && source[at] == (byte) 0xe2
                && source[at + 1] == (byte) 0x96
                && source[at + 2] == (byte) 0x81) {
            buffer.put(UnigramBuffer.MARK, origin);
            return length;
        }
        for (int i = at; i < at + length; i++) {
            buffer.put(source[i], origin);
        }
        return length;
    }

    /** Returns the number of {@code char}s of the code points between two places of the source. */
    static int chars(UnigramBuffer buffer, int from, int end) {
        int chars = 0;
        for (int i = from; i < end; i += Utf8.length(buffer.source[i])) {
            chars += Utf8.chars(buffer.source[i]);
        }
        return chars;
    }
}

package io.multihead.internal.text.unigram;

import io.multihead.internal.text.unicode.Utf8;

/**
 * The normalizer of SentencePiece (Kudo and Richardson 2018): at each place the longest sequence of the map is replaced, user-defined
 * pieces do not change, and spaces become U+2581.
 *
 * @param map the characters
 * @param userDefined pieces that are not normalized, in the form that they have in a text
 * @param prefixed whether a space is put before a text that does not consist of spaces
 * @param collapses whether spaces at the beginning, at the end and after another space are removed
 */
public record SentenceNormalizer(CharacterMap map, PieceArray userDefined, boolean prefixed, boolean collapses)
        implements UnigramNormalizer {
    @Override
    public void normalize(UnigramBuffer buffer, int origin) {
        int length = buffer.sourceEnd;
        int index = origin;
        boolean afterSpace = collapses;
        boolean empty = true;
        for (int at = 0; at < length; ) {
            int piece = userDefined(buffer, at);
            long match = piece > 0 ? CharacterMap.NONE : map.longest(buffer.source, at, length);
            int next = at + (piece > 0 ? piece : consumed(buffer, at, match));
            if (empty && !(collapses && isSpace(buffer, at, next, match))) {
                empty = false;
                if (prefixed) {
                    buffer.put(UnigramBuffer.MARK, index);
                }
            }
            if (!empty) {
                afterSpace = append(buffer, at, next, match, index, afterSpace);
            }
            index += UnigramNormalizer.chars(buffer, at, next);
            at = next;
        }
        buffer.finish(index);
        while (collapses && buffer.end > UnigramBuffer.START && buffer.text[buffer.end - 1] == UnigramBuffer.MARK) {
            buffer.end--;
        }
    }

    private static int consumed(UnigramBuffer buffer, int at, long match) {
        return match == CharacterMap.NONE ? Utf8.length(buffer.source[at]) : CharacterMap.length(match);
    }

    /** Returns the number of bytes of the longest user-defined piece at a place, or 0. */
    private int userDefined(UnigramBuffer buffer, int from) {
        int longest = 0;
        int state = userDefined.root;
        for (int at = from; at < buffer.sourceEnd; at++) {
            int unit = userDefined.unit(state, buffer.source[at]);
            if (unit == 0) {
                return longest;
            }
            state = PieceArray.state(unit);
            longest = PieceArray.ends(unit) ? at + 1 - from : longest;
        }
        return longest;
    }

    private boolean isSpace(UnigramBuffer buffer, int at, int next, long match) {
        return match == CharacterMap.NONE ? next == at + 1 && buffer.source[at] == ' ' : map.isSpace(match);
    }

    /** Adds the replacement of a place of the source, and returns whether a space is to be omitted after it. */
    private boolean append(UnigramBuffer buffer, int at, int next, long match, int origin, boolean afterSpace) {
        int first = buffer.end;
        if (match == CharacterMap.NONE) {
            for (int i = at; i < next; ) {
                i += UnigramNormalizer.copy(buffer, i, origin);
            }
        } else {
            map.copyText(match, buffer, origin);
        }
        if (afterSpace) {
            dropSpaces(buffer, first);
        }
        if (buffer.end == first) {
            return afterSpace;
        }
        boolean endsWithSpace = buffer.text[buffer.end - 1] == ' ';
        for (int i = first; i < buffer.end; i++) {
            if (buffer.text[i] == ' ') {
                buffer.text[i] = UnigramBuffer.MARK;
            }
        }
        return collapses && endsWithSpace;
    }

    /** Removes the spaces with which a text of the map begins; all its bytes come from one place. */
    private static void dropSpaces(UnigramBuffer buffer, int from) {
        int spaces = 0;
        while (from + spaces < buffer.end && buffer.text[from + spaces] == ' ') {
            spaces++;
        }
        System.arraycopy(buffer.text, from + spaces, buffer.text, from, buffer.end - from - spaces);
        buffer.end -= spaces;
    }
}

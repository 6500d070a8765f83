package io.multihead.internal.text.words;

import io.multihead.internal.text.unicode.CodePointClasses;

/** Parts of words that several rules share. */
final class WordParts {
    private WordParts() {}

    /** Returns the end of the run of code points whose classes have their bits in {@code kinds}. */
    static int run(CodePointClasses classes, int kinds, char[] text, int from, int end) {
        int at = from;
        while (at < end && (kinds >> classes.at(text, at, end) & 1) != 0) {
            at = CodePointClasses.after(text, at, end);
        }
        return at;
    }

    /** Returns the end of a run of at most {@code most} code points whose classes have their bits in {@code kinds}. */
    static int run(CodePointClasses classes, int kinds, int most, char[] text, int from, int end) {
        int at = from;
        for (int i = 0; i < most && at < end && (kinds >> classes.at(text, at, end) & 1) != 0; i++) {
            at = CodePointClasses.after(text, at, end);
        }
        return at;
    }

    static int bits(int... kinds) {
        int bits = 0;
        for (int kind : kinds) {
            bits |= 1 << kind;
        }
        return bits;
    }

    /**
     * Returns the length of the English contraction that begins at a place ({@code 's 't 're 've 'm 'll 'd}), or 0. Without regard to case,
     * the long s (U+017F) matches an s, as in regular expressions.
     */
    static int contraction(char[] text, int at, int end, boolean anyCase) {
        if (at + 1 >= end || text[at] != '\'') {
            return 0;
        }
        char first = fold(text[at + 1], anyCase);
        if (first == 's' || first == 't' || first == 'm' || first == 'd') {
            return 2;
        }
        char second = at + 2 < end ? fold(text[at + 2], anyCase) : ' ';
        boolean found = (first == 'r' || first == 'v') && second == 'e' || first == 'l' && second == 'l';
        return found ? 3 : 0;
    }

    private static char fold(char c, boolean anyCase) {
        if (!anyCase) {
            return c;
        }
        if (c == '\u017f') {
            return 's';
        }
        return c >= 'A' && c <= 'Z' ? (char) (c + 32) : c;
    }

    /**
     * Returns the end of a word of white space that begins here, without the part that belongs to the next word: {@code
     * \s*[\r\n]+|\s+(?!\S)|\s+}.
     */
    static int spaces(CodePointClasses classes, char[] text, int from, int end) {
        int at = from;
        int afterNewline = -1;
        int last = from;
        while (at < end) {
            int kind = classes.of(text[at]);
            if (kind != CodePointClasses.SPACE && kind != CodePointClasses.NEWLINE) {
                break;
            }
            last = at++;
            afterNewline = kind == CodePointClasses.NEWLINE ? at : afterNewline;
        }
        if (afterNewline >= 0) {
            return afterNewline;
        }
        return at == end || last == from ? at : last;
    }
}

package io.multihead.internal.text.words;

import io.multihead.internal.text.unicode.CodePointClasses;

/**
 * The rule of DeepSeek LLM: line ends separately; letters of the alphabets with case, and punctuation, each after at most one white space;
 * white space before these or at the end; ideographs; numbers; and runs between these. The file of DeepSeek has one expression for each of
 * these, and each expression divides the results of the previous expressions.
 */
public final class DeepSeekWords implements WordRule {
    private static final int OTHER = 0;
    private static final int NEWLINE = 1;
    private static final int LETTER = 2;
    private static final int PUNCTUATION = 3;
    private static final int NUMBER = 4;
    private static final int SPACE = 5;
    /** U+3000, white space that the expression of punctuation also contains. */
    private static final int WIDE_SPACE = 6;
    /** A to z, narrow or wide, which the expression of punctuation also contains and therefore separates from other letters. */
    private static final int LATIN_LETTER = 7;
    /** Added to the kinds of code points of the expression of ideographs: it divides all earlier matches. */
    private static final int IDEOGRAPH = 8;

    private static final int KINDS = 7;

    /** The first and last code points of ranges of letters. */
    private static final int[] LETTERS = {
        0x41, 0x5a, 0x61, 0x7a, 0xb5, 0xb5, 0xc0, 0xd6, 0xd8, 0xf6, 0xf8, 0x1ba, 0x1bc, 0x1bf, 0x1c4, 0x293, 0x295,
        0x2af, 0x370, 0x373, 0x376, 0x376, 0x377, 0x377, 0x37b, 0x37d, 0x37f, 0x37f, 0x386, 0x386, 0x388, 0x38a, 0x38c,
        0x38c, 0x38e, 0x3a1, 0x3a3, 0x3f5, 0x3f7, 0x481, 0x48a, 0x52f, 0x531, 0x556, 0x10a0, 0x10c5, 0x13a0, 0x13f5,
        0x13f8, 0x13fd, 0x1c90, 0x1cba, 0x1cbd, 0x1cbf, 0x1d00, 0x1d2b, 0x1d6b, 0x1d77, 0x1d79, 0x1d9a, 0x1e00, 0x1f15,
        0x1f18, 0x1f1d, 0x1f20, 0x1f45, 0x1f48, 0x1f4d, 0x1f50, 0x1f57, 0x1f59, 0x1f59, 0x1f5b, 0x1f5b, 0x1f5d, 0x1f5d,
        0x1f5f, 0x1f7d, 0x1f80, 0x1fb4, 0x1fb6, 0x1fbc, 0x1fbe, 0x1fbe, 0x1fc2, 0x1fc4, 0x1fc6, 0x1fcc, 0x1fd0, 0x1fd3,
        0x1fd6, 0x1fdb, 0x1fe0, 0x1fec, 0x1ff2, 0x1ff4, 0x1ff6, 0x1ffc, 0x2102, 0x2102, 0x2107, 0x2107, 0x210a, 0x2113,
        0x2115, 0x2115, 0x2119, 0x211d, 0x2124, 0x2124, 0x2126, 0x2126, 0x2128, 0x2128, 0x212a, 0x212d, 0x212f, 0x2134,
        0x2139, 0x2139, 0x213c, 0x213f, 0x2145, 0x2149, 0x214e, 0x214e, 0x2183, 0x2183, 0x2184, 0x2184, 0x2c00, 0x2c7b,
        0x2c7e, 0x2ce4, 0x2ceb, 0x2cee, 0x2cf2, 0x2cf2, 0x2cf3, 0x2cf3, 0xa640, 0xa66d, 0xa680, 0xa69b, 0xa722, 0xa76f,
        0xa771, 0xa787, 0xa78b, 0xa78e, 0xab70, 0xabbf, 0xfb00, 0xfb06, 0xfb13, 0xfb17, 0xff21, 0xff3a, 0xff41, 0xff5a,
        0x10400, 0x1044f, 0x104b0, 0x104d3, 0x104d8, 0x104fb, 0x10c80, 0x10cb2, 0x10cc0, 0x10cf2, 0x118a0, 0x118df,
        0x1e900, 0x1e943
    };

    private static final int[] PUNCTUATIONS = {
        '!', '/', ':', '~', 0xff01, 0xff0f, 0xff1a, 0xff5e, 0x2018, 0x201f, 0x3000, 0x3002
    };

    private static final int[] IDEOGRAPHS = {0x4e00, 0x9fa5, 0x800, 0x4e00, 0xac00, 0xd7ff};

    private final CodePointClasses classes = new CodePointClasses(DeepSeekWords::kind);

    private static int kind(int codePoint) {
        return expression(codePoint) | (isIn(codePoint, IDEOGRAPHS) ? IDEOGRAPH : 0);
    }

    private static int expression(int codePoint) {
        return switch (CodePointClasses.byCategory(codePoint)) {
            case CodePointClasses.NEWLINE -> NEWLINE;
            case CodePointClasses.SPACE -> codePoint == 0x3000 ? WIDE_SPACE : SPACE;
            case CodePointClasses.NUMBER -> NUMBER;
            default -> {
                if (isIn(codePoint, LETTERS)) {
                    yield isIn(codePoint, PUNCTUATIONS) ? LATIN_LETTER : LETTER;
                }
                yield isIn(codePoint, PUNCTUATIONS) ? PUNCTUATION : OTHER;
            }
        };
    }

    private static boolean isIn(int codePoint, int[] ranges) {
        for (int i = 0; i < ranges.length; i += 2) {
            if (codePoint >= ranges[i] && codePoint <= ranges[i + 1]) {
                return true;
            }
        }
        return false;
    }

    @Override
    public int wordEnd(char[] text, int from, int end) {
        int kind = classes.at(text, from, end);
        if (kind == NEWLINE) {
            return from + 1;
        }
        boolean space = isSpace(kind);
        int first = space ? classes.at(text, from + 1, end) : kind;
        boolean letters = isLetter(first);
        if (letters || isPunctuation(first) || is(kind, WIDE_SPACE)) {
            // the expression of ideographs contains only one of both, or the expression of punctuation contains the
            // space before letters
            // but not the letters
            boolean apart = space && (first < 0 || (first & IDEOGRAPH) != (kind & IDEOGRAPH));
            if (apart || letters && is(kind, WIDE_SPACE)) {
                return from + 1;
            }
            int start = space ? from + 1 : from;
            return letters ? WordParts.run(classes, 1 << first, text, start, end) : punctuation(text, from, end);
        }
        return space ? spaces(text, from, end, kind) : rest(text, from, from, end, kind);
    }

    private static boolean is(int kind, int expected) {
        return kind >= 0 && (kind & KINDS) == expected;
    }

    private static boolean isLetter(int kind) {
        return is(kind, LETTER) || is(kind, LATIN_LETTER);
    }

    private static boolean isSpace(int kind) {
        return is(kind, SPACE) || is(kind, WIDE_SPACE);
    }

    private static boolean isPunctuation(int kind) {
        return is(kind, PUNCTUATION) || is(kind, WIDE_SPACE);
    }

    /**
     * Returns the end of punctuation after at most one white space. U+3000 at the end of the punctuation is a separate word, or belongs to
     * the letters that follow.
     */
    private int punctuation(char[] text, int from, int end) {
        int ideograph = classes.at(text, from, end) & IDEOGRAPH;
        int at = from + 1;
        int spacesFrom = isSpace(classes.of(text[from])) ? from : at;
        boolean allSpaces = spacesFrom == from;
        while (at < end) {
            int kind = classes.at(text, at, end);
            if (isPunctuation(kind) && (kind & IDEOGRAPH) != ideograph) {
                return at;
            }
            if (!isPunctuation(kind) || isTaken(text, at, end, kind)) {
                break;
            }
            at++;
            if (kind == (PUNCTUATION | ideograph)) {
                spacesFrom = at;
                allSpaces = false;
            }
        }
        return allSpaces ? at : spacesFrom;
    }

    private boolean isTaken(char[] text, int at, int end, int kind) {
        return is(kind, WIDE_SPACE) && isLetter(classes.at(text, at + 1, end));
    }

    /** Returns the end of white space that is not directly followed by letters or punctuation. */
    private int spaces(char[] text, int from, int end, int kind) {
        int after = WordParts.run(classes, 1 << kind, text, from, end);
        int next = classes.at(text, after, end);
        if (is(next, SPACE) || next < 0 || next == NEWLINE || isTaken(text, after, end, next)) {
            return after;
        }
        return isLetter(next) || isPunctuation(next) ? after - 1 : rest(text, from, after, end, kind);
    }

    /** Returns the end of a run of ideographs, of numbers, or of neither, up to white space that ends this part of the text. */
    private int rest(char[] text, int from, int known, int end, int first) {
        int at = Math.max(known, from);
        int afterSpaces = at;
        while (at < end) {
            int kind = classes.at(text, at, end);
            if (group(kind) != group(first) || isLetter(kind) || isPunctuation(kind)) {
                break;
            }
            if (is(kind, SPACE) && at >= afterSpaces) {
                afterSpaces = WordParts.run(classes, 1 << SPACE | 1 << (SPACE | IDEOGRAPH), text, at, end);
                int next = classes.at(text, afterSpaces, end);
                if (next < 0 || next == NEWLINE || isLetter(next) || isPunctuation(next)) {
                    break;
                }
            }
            at = CodePointClasses.after(text, at, end);
        }
        return at;
    }

    /** Returns the class by which a code point is grouped; for white space, the class of the adjacent character. */
    private static int group(int kind) {
        return is(kind, SPACE) ? OTHER | kind & IDEOGRAPH : kind;
    }
}

package io.multihead.internal.text.unicode;

/**
 * The ends of user-perceived characters: the extended grapheme clusters of Unicode Standard Annex 29, revision 43, except rule GB9c, which
 * joins two consonants of Indic scripts around a virama. All clusters of this rule have nine bytes of UTF-8 or more, and callers treat such
 * clusters as separate code points.
 *
 * <p>Classes follow from the general categories of the running JDK's Unicode and the exceptions that the annex names. Pages of 256 code
 * points are computed when one of them is first seen. Thread-safe: a page is immutable, and computing it twice has no effect.
 */
public final class Graphemes {
    private static final byte OTHER = 0;
    private static final byte CONTROL = 1;
    private static final byte EXTEND = 2;
    private static final byte JOINER = 3;
    private static final byte SPACING_MARK = 4;
    private static final byte PREPEND = 5;
    private static final byte REGIONAL = 6;
    private static final byte PICTOGRAPH = 7;
    private static final byte LEADING = 8;
    private static final byte VOWEL = 9;
    private static final byte TRAILING = 10;
    private static final byte SYLLABLE = 11;
    private static final byte CLOSED_SYLLABLE = 12;

    private static final int PAGE_BITS = 8;
    private static final int PAGE = 1 << PAGE_BITS;

    private final byte[][] pages = new byte[(Character.MAX_CODE_POINT + 1) >> PAGE_BITS][];

    /** Returns the end of the cluster that begins at a place of valid UTF-8. */
    public int end(byte[] text, int from, int end) {
        int codePoint = Utf8.codePoint(text, from);
        int at = from + Utf8.length(text[from]);
        if (codePoint == '\r' && at < end && text[at] == '\n') {
            return at + 1;
        }
        int left = classOf(codePoint);
        boolean pictograph = left == PICTOGRAPH;
        boolean afterPictograph = false;
        boolean paired = false;
        while (at < end) {
            int right = classOf(Utf8.codePoint(text, at));
            boolean joined = joins(left, right)
                    || left == REGIONAL && right == REGIONAL && !paired
                    || afterPictograph && right == PICTOGRAPH;
            if (!joined) {
                return at;
            }
            paired = left == REGIONAL && right == REGIONAL;
            pictograph = right == PICTOGRAPH || pictograph && (right == EXTEND || right == JOINER);
            afterPictograph = pictograph && right == JOINER;
            left = right;
            at += Utf8.length(text[at]);
        }
        return end;
    }

    private static boolean joins(int left, int right) {
        if (left == CONTROL || right == CONTROL) {
            return false;
        }
        return right == EXTEND
                || right == JOINER
                || right == SPACING_MARK
                || left == PREPEND
                || left == LEADING
                        && (right == LEADING || right == VOWEL || right == SYLLABLE || right == CLOSED_SYLLABLE)
                || (left == SYLLABLE || left == VOWEL) && (right == VOWEL || right == TRAILING)
                || (left == CLOSED_SYLLABLE || left == TRAILING) && right == TRAILING;
    }

    private int classOf(int codePoint) {
        byte[] page = pages[codePoint >> PAGE_BITS];
        if (page == null) {
            page = new byte[PAGE];
            for (int low = 0; low < PAGE; low++) {
                page[low] = computed(codePoint & -PAGE | low);
            }
            pages[codePoint >> PAGE_BITS] = page;
        }
        return page[codePoint & PAGE - 1];
    }

    private static byte computed(int c) {
        if (Character.isExtendedPictographic(c)) {
            return PICTOGRAPH;
        }
        return switch (Character.getType(c)) {
            case Character.CONTROL, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR, Character.SURROGATE ->
                CONTROL;
            case Character.UNASSIGNED -> isIgnorable(c) ? CONTROL : OTHER;
            case Character.FORMAT -> format(c);
            case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK -> EXTEND;
            case Character.COMBINING_SPACING_MARK -> spacingMark(c);
            case Character.MODIFIER_SYMBOL -> c >= 0x1f3fb && c <= 0x1f3ff ? EXTEND : OTHER;
            case Character.MODIFIER_LETTER -> c == 0xff9e || c == 0xff9f ? EXTEND : OTHER;
            case Character.OTHER_SYMBOL -> c >= 0x1f1e6 && c <= 0x1f1ff ? REGIONAL : OTHER;
            case Character.OTHER_LETTER -> letter(c);
            default -> OTHER;
        };
    }

    /** Returns whether an unassigned code point is ignored by default. */
    private static boolean isIgnorable(int c) {
        return c == 0x2065 || c >= 0xfff0 && c <= 0xfff8 || c >= 0xe0000 && c <= 0xe0fff;
    }

    private static byte format(int c) {
        return switch (c) {
            case 0x200c -> EXTEND;
            case 0x200d -> JOINER;
            case 0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd ->
                PREPEND;
            default -> c >= 0xe0020 && c <= 0xe007f ? EXTEND : CONTROL;
        };
    }

    /**
     * Returns the class of a spacing mark, which joins the previous character, except for characters that the annex excludes. Extend and
     * SpacingMark differ only in sequences of emoji.
     */
    private static byte spacingMark(int c) {
        boolean excluded =
                switch (c) {
                    case 0x102b, 0x102c, 0x1038, 0x1062, 0x1063, 0x1064, 0x1083, 0x108f, 0x109a, 0x109b, 0x109c -> true;
                    case 0x1a61, 0x1a63, 0x1a64, 0xaa7b, 0xaa7d, 0x11720, 0x11721 -> true;
                    default -> c >= 0x1067 && c <= 0x106d || c >= 0x1087 && c <= 0x108c;
                };
        return excluded ? OTHER : SPACING_MARK;
    }

    private static byte letter(int c) {
        if (c >= 0xac00 && c <= 0xd7a3) {
            return (c - 0xac00) % 28 == 0 ? SYLLABLE : CLOSED_SYLLABLE;
        }
        if (c >= 0x1100 && c <= 0x115f || c >= 0xa960 && c <= 0xa97c) {
            return LEADING;
        }
        if (c >= 0x1160 && c <= 0x11a7 || c >= 0xd7b0 && c <= 0xd7c6) {
            return VOWEL;
        }
        if (c >= 0x11a8 && c <= 0x11ff || c >= 0xd7cb && c <= 0xd7fb) {
            return TRAILING;
        }
        return switch (c) {
            case 0xe33, 0xeb3 -> SPACING_MARK;
            case 0xd4e,
                    0x111c2,
                    0x111c3,
                    0x113d1,
                    0x1193f,
                    0x11941,
                    0x11a3a,
                    0x11a84,
                    0x11a85,
                    0x11a86,
                    0x11a87,
                    0x11a88 -> PREPEND;
            case 0x11a89, 0x11d46, 0x11f02 -> PREPEND;
            default -> OTHER;
        };
    }
}

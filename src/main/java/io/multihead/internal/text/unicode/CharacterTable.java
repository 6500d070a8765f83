package io.multihead.internal.text.unicode;

import java.text.Normalizer;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The normalized form of each code point, and its role in the division into words. Pages of 256 code points are computed when one of them
 * is first seen, so that scripts that a text does not use cost neither time nor memory. Thread-safe: a page is immutable, and computing it
 * twice has no effect.
 */
public final class CharacterTable {
    /** The code point is a part of a word. */
    public static final int LETTER = 0;
    /** The code point ends a word. */
    public static final int SPACE = 1;
    /** The code point is removed, and does not end a word. */
    public static final int REMOVED = 2;
    /** The code point is a separate word. */
    public static final int ALONE = 3;
    /** The code point becomes several code points; the low bits are an index of {@link #expansion}. */
    public static final int SEVERAL = 4;

    private static final int KIND_SHIFT = 21;
    private static final int LOW_BITS = (1 << KIND_SHIFT) - 1;
    private static final int PAGE_BITS = 8;
    private static final int CAPITAL_I_WITH_DOT = 0x130;
    private static final int COMBINING_DOT = 0x307;

    /** Entries of 256 code points, and the expansions of some of them, whose code points are also entries. */
    private record Page(int[] entries, int[][] expansions) {}

    private final BertSteps normalization;
    private final boolean divides;
    private final Page[] pages = new Page[(Character.MAX_CODE_POINT + 1) >> PAGE_BITS];

    /** Creates a table in which punctuation is separate. */
    public CharacterTable(BertSteps normalization) {
        this(normalization, true);
    }

    private CharacterTable(BertSteps normalization, boolean divides) {
        this.normalization = normalization;
        this.divides = divides;
    }

    /** Returns a table in which punctuation is part of words, for a normalizer that no pre-tokenizer follows. */
    public static CharacterTable withoutPunctuation(BertSteps normalization) {
        return new CharacterTable(normalization, false);
    }

    public static int kind(int entry) {
        return entry >>> KIND_SHIFT;
    }

    public static int codePoint(int entry) {
        return entry & LOW_BITS;
    }

    /** Returns the kind and the code point of a code point's normalized form. */
    public int entry(int codePoint) {
        return page(codePoint).entries[codePoint & ((1 << PAGE_BITS) - 1)];
    }

    /** Returns the entries that a code point of kind {@link #SEVERAL} becomes. */
    public int[] expansion(int codePoint, int entry) {
        return page(codePoint).expansions[codePoint(entry)];
    }

    private Page page(int codePoint) {
        Page page = pages[codePoint >> PAGE_BITS];
        if (page == null) {
            page = compute(codePoint >> PAGE_BITS);
            pages[codePoint >> PAGE_BITS] = page;
        }
        return page;
    }

    private Page compute(int number) {
        int size = 1 << PAGE_BITS;
        int[] entries = new int[size];
        int[][] expansions = new int[size][];
        int count = 0;
        for (int i = 0; i < size; i++) {
            int[] results = normalize((number << PAGE_BITS) + i);
            if (results.length == 1) {
                entries[i] = results[0];
            } else {
                entries[i] = pack(SEVERAL, count);
                expansions[count++] = results;
            }
        }
        return new Page(entries, Arrays.copyOf(expansions, count));
    }

    private int[] normalize(int codePoint) {
        boolean unpaired = Character.getType(codePoint) == Character.SURROGATE;
        if (unpaired || normalization.cleanText() && isRemoved(codePoint)) {
            return new int[] {pack(REMOVED, 0)};
        }
        if (isSpace(codePoint)) {
            return new int[] {pack(SPACE, 0)};
        }
        boolean alone = normalization.separateChinese() && isIdeograph(codePoint);
        String text = Character.toString(codePoint);
        if (normalization.stripAccents()) {
            text = Normalizer.normalize(text, Normalizer.Form.NFD);
        }
        int[] results = text.codePoints()
                .filter(c -> !normalization.stripAccents() || Character.getType(c) != Character.NON_SPACING_MARK)
                .flatMap(this::lower)
                .map(c -> pack(alone || divides && isPunctuation(c) ? ALONE : LETTER, c))
                .toArray();
        return results.length == 0 ? new int[] {pack(REMOVED, 0)} : results;
    }

    private IntStream lower(int codePoint) {
        if (!normalization.lowercase()) {
            return IntStream.of(codePoint);
        }
        // the only code point whose lower case is longer, in every context (Unicode's SpecialCasing.txt)
        return codePoint == CAPITAL_I_WITH_DOT
                ? IntStream.of('i', COMBINING_DOT)
                : IntStream.of(Character.toLowerCase(codePoint));
    }

    private static int pack(int kind, int low) {
        return kind << KIND_SHIFT | low;
    }

    /** Returns whether a code point is a control, format or private-use character; unassigned code points are kept. */
    private static boolean isRemoved(int codePoint) {
        if (codePoint == '\t' || codePoint == '\n' || codePoint == '\r') {
            return false;
        }
        return codePoint == 0xfffd
                || switch (Character.getType(codePoint)) {
                    case Character.CONTROL, Character.FORMAT, Character.PRIVATE_USE, Character.SURROGATE -> true;
                    default -> false;
                };
    }

    /** Returns whether a code point has Unicode's property White_Space. */
    public static boolean isSpace(int codePoint) {
        return codePoint >= '\t' && codePoint <= '\r' || codePoint == 0x85 || Character.isSpaceChar(codePoint);
    }

    /** Returns whether a code point is in the ranges of the original tokenizer, which omit U+2B820 to U+2B91F. */
    private static boolean isIdeograph(int codePoint) {
        return within(codePoint, 0x4e00, 0x9fff)
                || within(codePoint, 0x3400, 0x4dbf)
                || within(codePoint, 0x20000, 0x2a6df)
                || within(codePoint, 0x2a700, 0x2b73f)
                || within(codePoint, 0x2b740, 0x2b81f)
                || within(codePoint, 0x2b920, 0x2ceaf)
                || within(codePoint, 0xf900, 0xfaff)
                || within(codePoint, 0x2f800, 0x2fa1f);
    }

    private static boolean within(int codePoint, int first, int last) {
        return codePoint >= first && codePoint <= last;
    }

    /** Returns whether a code point is an ASCII symbol or Unicode's punctuation; other symbols, such as the euro sign, are letters. */
    private static boolean isPunctuation(int codePoint) {
        if (codePoint < 0x80) {
            return codePoint > ' ' && codePoint < 0x7f && !Character.isLetterOrDigit(codePoint);
        }
        return switch (Character.getType(codePoint)) {
            case Character.CONNECTOR_PUNCTUATION,
                    Character.DASH_PUNCTUATION,
                    Character.START_PUNCTUATION,
                    Character.END_PUNCTUATION,
                    Character.INITIAL_QUOTE_PUNCTUATION,
                    Character.FINAL_QUOTE_PUNCTUATION,
                    Character.OTHER_PUNCTUATION -> true;
            default -> false;
        };
    }
}

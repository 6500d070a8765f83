package io.multihead.internal.text.unicode;

import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The class of each code point for the rule that divides text into words. Pages of 256 code points are computed when one of them is first
 * seen. Thread-safe: a page is immutable after it was stored, and computing it twice has no effect.
 */
public final class CodePointClasses {
    /** No other class: punctuation, symbols, control characters, unassigned code points. */
    public static final int OTHER = 0;
    /** White space except line ends. */
    public static final int SPACE = 1;
    /** Carriage return and line feed. */
    public static final int NEWLINE = 2;
    /** Categories Nd, Nl and No. */
    public static final int NUMBER = 3;
    /** Category M, which is not a letter. */
    public static final int MARK = 4;
    /** Categories Lm and Lo. */
    public static final int CASELESS = 5;
    /** Category Ll. */
    public static final int LOWER = 6;
    /** Categories Lu and Lt. */
    public static final int UPPER = 7;

    private static final int PAGE_BITS = 8;
    private static final int PAGE = 1 << PAGE_BITS;

    private record Page(byte[] classes) {}

    private final IntUnaryOperator rule;
    private final @Nullable Page[] pages = new Page[(Character.MAX_CODE_POINT + 1) >> PAGE_BITS];

    /** Creates classes from Unicode's general category. */
    public CodePointClasses() {
        this(CodePointClasses::byCategory);
    }

    /** Creates classes with another rule, which returns 0 to 127. */
    public CodePointClasses(IntUnaryOperator rule) {
        this.rule = rule;
    }

    public int of(int codePoint) {
        Page page = pages[codePoint >> PAGE_BITS];
        if (page == null) {
            page = compute(codePoint >> PAGE_BITS);
            pages[codePoint >> PAGE_BITS] = page;
        }
        return page.classes[codePoint & PAGE - 1];
    }

    /** Returns the class of the code point at a place of a text, or -1 at its end. */
    public int at(char[] text, int at, int end) {
        return at < end ? of(codePoint(text, at, end)) : -1;
    }

    /** Returns the end of the code point at a place. */
    public static int after(char[] text, int at, int end) {
        return at + Character.charCount(codePoint(text, at, end));
    }

    private static int codePoint(char[] text, int at, int end) {
        char c = text[at];
        return Character.isHighSurrogate(c) ? Character.codePointAt(text, at, end) : c;
    }

    public static boolean isLetter(int kind) {
        return kind >= CASELESS;
    }

    private Page compute(int number) {
        byte[] classes = new byte[PAGE];
        for (int i = 0; i < PAGE; i++) {
            classes[i] = (byte) rule.applyAsInt((number << PAGE_BITS) + i);
        }
        return new Page(classes);
    }

    public static int byCategory(int codePoint) {
        if (codePoint == '\n' || codePoint == '\r') {
            return NEWLINE;
        }
        if (CharacterTable.isSpace(codePoint)) {
            return SPACE;
        }
        return switch (Character.getType(codePoint)) {
            case Character.UPPERCASE_LETTER, Character.TITLECASE_LETTER -> UPPER;
            case Character.LOWERCASE_LETTER -> LOWER;
            case Character.MODIFIER_LETTER, Character.OTHER_LETTER -> CASELESS;
            case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.COMBINING_SPACING_MARK -> MARK;
            case Character.DECIMAL_DIGIT_NUMBER, Character.LETTER_NUMBER, Character.OTHER_NUMBER -> NUMBER;
            default -> OTHER;
        };
    }
}

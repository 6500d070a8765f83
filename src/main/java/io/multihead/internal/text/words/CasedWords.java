package io.multihead.internal.text.words;

import io.multihead.internal.text.unicode.CodePointClasses;

/**
 * The rule of GPT-4o, which is also the rule of Mistral's Tekken if there are no contractions and numbers have one digit. In this rule, a
 * word has upper case letters only before the lower case letters:
 *
 * <pre>{@code
 * [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 * |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 * |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * }</pre>
 */
public final class CasedWords implements WordRule {
    private static final int UPPER =
            WordParts.bits(CodePointClasses.UPPER, CodePointClasses.CASELESS, CodePointClasses.MARK);
    private static final int LOWER =
            WordParts.bits(CodePointClasses.LOWER, CodePointClasses.CASELESS, CodePointClasses.MARK);
    private static final int NUMBERS = WordParts.bits(CodePointClasses.NUMBER);
    private static final int OTHERS = WordParts.bits(CodePointClasses.OTHER, CodePointClasses.MARK);

    private final CodePointClasses classes = new CodePointClasses();
    private final boolean contractions;
    private final int mostDigits;

    public CasedWords(boolean contractions, int mostDigits) {
        this.contractions = contractions;
        this.mostDigits = mostDigits;
    }

    @Override
    public int wordEnd(char[] text, int from, int end) {
        int kind = classes.at(text, from, end);
        if (kind == CodePointClasses.NUMBER) {
            return WordParts.run(classes, NUMBERS, mostDigits, text, from, end);
        }
        int next = CodePointClasses.after(text, from, end);
        boolean prefix = !CodePointClasses.isLetter(kind) && kind != CodePointClasses.NEWLINE;
        int word = letters(text, from, next, prefix, end);
        if (word > from) {
            return word + (contractions ? WordParts.contraction(text, word, end, true) : 0);
        }
        int others = text[from] == ' ' ? next : from;
        int afterOthers = WordParts.run(classes, OTHERS, text, others, end);
        if (afterOthers > others) {
            while (afterOthers < end && isLineEndOrSlash(text[afterOthers])) {
                afterOthers++;
            }
            return afterOthers;
        }
        return WordParts.spaces(classes, text, from, end);
    }

    /** Returns the end of a word of letters, tried with and without a code point before them, or {@code from}. */
    private int letters(char[] text, int from, int next, boolean prefix, int end) {
        int lower = prefix ? lowerEnd(text, next, end) : -1;
        lower = lower < 0 ? lowerEnd(text, from, end) : lower;
        if (lower >= 0) {
            return lower;
        }
        int upper = prefix ? WordParts.run(classes, UPPER, text, next, end) : next;
        return prefix && upper > next ? upper : WordParts.run(classes, UPPER, text, from, end);
    }

    /**
     * Returns the end of upper case letters followed by at least one letter that is not upper case, or -1; letters without case are both.
     */
    private int lowerEnd(char[] text, int from, int end) {
        int at = from;
        int afterCaseless = -1;
        while (at < end) {
            int kind = classes.at(text, at, end);
            if ((UPPER >> kind & 1) == 0) {
                break;
            }
            at = CodePointClasses.after(text, at, end);
            afterCaseless = kind == CodePointClasses.UPPER ? afterCaseless : at;
        }
        int lower = WordParts.run(classes, LOWER, text, at, end);
        return lower > at ? lower : afterCaseless;
    }

    private static boolean isLineEndOrSlash(char c) {
        return c == '\r' || c == '\n' || c == '/';
    }
}

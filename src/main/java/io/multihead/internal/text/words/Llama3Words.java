package io.multihead.internal.text.words;

import io.multihead.internal.text.unicode.CodePointClasses;

/**
 * The rule of Llama 3, which is also the rule of Qwen 2 and 3 if numbers have one digit:
 * {@code (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+}. Qwen 3.5
 * treats marks as letters.
 */
public final class Llama3Words implements WordRule {
    private static final int LETTERS =
            WordParts.bits(CodePointClasses.CASELESS, CodePointClasses.LOWER, CodePointClasses.UPPER);
    private static final int NUMBERS = WordParts.bits(CodePointClasses.NUMBER);
    private static final int OTHERS = WordParts.bits(CodePointClasses.OTHER);
    private static final int MARKS = WordParts.bits(CodePointClasses.MARK);
    private static final int NEWLINES = WordParts.bits(CodePointClasses.NEWLINE);

    private final CodePointClasses classes = new CodePointClasses();
    private final int mostDigits;
    /** Classes of code points in words of letters. */
    private final int letters;
    /** Classes of other code points, except spaces and numbers. */
    private final int others;

    public Llama3Words(int mostDigits) {
        this(mostDigits, false);
    }

    /**
     * Creates a rule.
     *
     * @param marks whether marks are treated as letters
     */
    public Llama3Words(int mostDigits, boolean marks) {
        this.mostDigits = mostDigits;
        letters = marks ? LETTERS | MARKS : LETTERS;
        others = marks ? OTHERS : OTHERS | MARKS;
    }

    @Override
    public int wordEnd(char[] text, int from, int end) {
        int contraction = WordParts.contraction(text, from, end, true);
        if (contraction > 0) {
            return from + contraction;
        }
        int kind = classes.at(text, from, end);
        if (isLetter(kind)) {
            return WordParts.run(classes, letters, text, from, end);
        }
        if (kind == CodePointClasses.NUMBER) {
            return WordParts.run(classes, NUMBERS, mostDigits, text, from, end);
        }
        int next = CodePointClasses.after(text, from, end);
        int nextKind = classes.at(text, next, end);
        if (kind != CodePointClasses.NEWLINE && isLetter(nextKind)) {
            return WordParts.run(classes, letters, text, next, end);
        }
        int first = text[from] == ' ' ? next : from;
        int afterOthers = WordParts.run(classes, others, text, first, end);
        if (afterOthers > first) {
            return WordParts.run(classes, NEWLINES, text, afterOthers, end);
        }
        return WordParts.spaces(classes, text, from, end);
    }

    private boolean isLetter(int kind) {
        return (letters >> kind & 1) != 0;
    }
}

package io.multihead.internal.text.words;

import io.multihead.internal.text.unicode.CodePointClasses;

/**
 * GPT-2's rule: {@code 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+}. SmolLM's rule, in which digits are
 * separate words, applies it to the text between them.
 */
public final class Gpt2Words implements WordRule {
    private static final int LETTERS =
            WordParts.bits(CodePointClasses.CASELESS, CodePointClasses.LOWER, CodePointClasses.UPPER);
    private static final int NUMBERS = WordParts.bits(CodePointClasses.NUMBER);
    private static final int OTHERS = WordParts.bits(CodePointClasses.OTHER, CodePointClasses.MARK);

    private final CodePointClasses classes = new CodePointClasses();
    private final boolean singleDigits;

    public Gpt2Words(boolean singleDigits) {
        this.singleDigits = singleDigits;
    }

    @Override
    public int wordEnd(char[] text, int from, int end) {
        int contraction = WordParts.contraction(text, from, end, false);
        if (contraction > 0) {
            return from + contraction;
        }
        int kind = classes.at(text, from, end);
        if (singleDigits && kind == CodePointClasses.NUMBER) {
            return CodePointClasses.after(text, from, end);
        }
        int start = from;
        if (text[from] == ' ') {
            kind = classes.at(text, ++start, end);
        }
        boolean apart = start > from && singleDigits && kind == CodePointClasses.NUMBER;
        if (kind < 0 || apart || kind == CodePointClasses.SPACE || kind == CodePointClasses.NEWLINE) {
            return spaces(text, from, end);
        }
        int kinds = CodePointClasses.isLetter(kind) ? LETTERS : kind == CodePointClasses.NUMBER ? NUMBERS : OTHERS;
        return WordParts.run(classes, kinds, text, start, end);
    }

    /**
     * Returns the end of white space without its last character, which belongs to the next word, unless it is the only character or no
     * word follows.
     */
    private int spaces(char[] text, int from, int end) {
        int at = from;
        int kind = CodePointClasses.SPACE;
        while (at < end) {
            kind = classes.at(text, at, end);
            if (kind != CodePointClasses.SPACE && kind != CodePointClasses.NEWLINE) {
                break;
            }
            at++;
        }
        boolean last = at == end || singleDigits && kind == CodePointClasses.NUMBER;
        return last || at == from + 1 ? at : at - 1;
    }
}

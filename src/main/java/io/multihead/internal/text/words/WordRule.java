package io.multihead.internal.text.words;

/**
 * The rule by which a byte-level tokenizer divides text into words before pairs merge: the matches of the models' regular expressions,
 * found in one pass over the code points. A word is a match of an expression, or a run between matches.
 */
public interface WordRule {
    /** Returns the end of the word that begins at a place. The end is after the place. The text ends at {@code end}. */
    int wordEnd(char[] text, int from, int end);
}

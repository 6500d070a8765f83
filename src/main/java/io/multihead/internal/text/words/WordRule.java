package io.multihead.internal.text.words;

/**
 * How a byte-level tokenizer divides text into words before pairs merge: what the models' regular expressions match, read in one pass over the
 * code points. A word is what an expression matches, or a run between matches.
 */
public interface WordRule {
    /** Returns where the word that begins at a place ends; later than the place. The text ends at {@code end}. */
    int wordEnd(char[] text, int from, int end);
}

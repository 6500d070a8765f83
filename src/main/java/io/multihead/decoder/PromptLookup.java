package io.multihead.decoder;

/**
 * Drafts the next tokens of a text: the tokens that followed the last earlier occurrence of the text's last few tokens (prompt lookup
 * decoding, Saxena 2023).
 */
final class PromptLookup {
    /** The largest and the smallest number of tokens that must match. */
    private static final int LONGEST = 3;

    private static final int SHORTEST = 2;

    private PromptLookup() {}

    /**
     * Writes the draft tokens that follow the text.
     *
     * @param text the previous tokens of the text
     * @param most the largest number of draft tokens
     * @return the number of draft tokens
     */
    static int draft(TokenList text, int most, int[] to) {
        for (int length = Math.min(LONGEST, text.size() - 1); length >= SHORTEST && most > 0; length--) {
            int after = after(text, length);
            if (after >= 0) {
                int count = Math.min(most, text.size() - after);
                System.arraycopy(text.array(), after, to, 0, count);
                return count;
            }
        }
        return 0;
    }

    /** Returns the index after the last earlier occurrence of the text's last {@code length} tokens, or -1. */
    private static int after(TokenList text, int length) {
        int[] ids = text.array();
        int end = text.size() - length;
        for (int at = end - 1; at >= 0; at--) {
            int same = 0;
            while (same < length && ids[at + same] == ids[end + same]) {
                same++;
            }
            if (same == length) {
                return at + length;
            }
        }
        return -1;
    }
}

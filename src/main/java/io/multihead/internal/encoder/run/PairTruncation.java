package io.multihead.internal.encoder.run;

/**
 * The numbers of tokens that remain of two texts with too many tokens for one sequence: strategy {@code longest_first} of HuggingFace's
 * tokenizers. The longer text is truncated until both texts are equally long, and then both texts are truncated. If the number of tokens is
 * odd, the text that was longer keeps one more token, or the second text if they were equally long.
 */
public final class PairTruncation {
    private PairTruncation() {}

    /**
     * Returns the number of {@code first} tokens that remain next to {@code second} tokens if there is room for {@code most} tokens of
     * both.
     */
    public static int keptOfFirst(int first, int second, int most) {
        if ((long) first + second <= most) {
            return first;
        }
        return first > second ? most - shorter(second, most) : shorter(first, most);
    }

    /** Returns the number of {@code second} tokens that remain. */
    public static int keptOfSecond(int first, int second, int most) {
        if ((long) first + second <= most) {
            return second;
        }
        return most - keptOfFirst(first, second, most);
    }

    private static int shorter(int tokens, int most) {
        return Math.min(tokens, most / 2);
    }
}

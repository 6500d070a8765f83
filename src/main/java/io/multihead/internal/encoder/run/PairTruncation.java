package io.multihead.internal.encoder.run;

/**
 * How many tokens two texts keep that have too many for one sequence: strategy {@code longest_first} of HuggingFace's tokenizers. The longer
 * text is cut until both are equally long, then both are; of an odd number of tokens the text that was longer keeps one more, and the second
 * where they were equally long.
 */
public final class PairTruncation {
    private PairTruncation() {}

    /** Returns how many of {@code first} tokens stay beside {@code second} where there is room for {@code most} of both. */
    public static int keptOfFirst(int first, int second, int most) {
        if ((long) first + second <= most) {
            return first;
        }
        return first > second ? most - shorter(second, most) : shorter(first, most);
    }

    /** Returns how many of {@code second} tokens stay. */
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

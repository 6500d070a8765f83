package io.multihead.encoder;

import java.util.Arrays;

/** The sequences of a batch as parts of texts. For one caller at a time. */
final class TextParts {
    /** The tokens of its part of a text. */
    private int[] tokens = new int[8];
    /** Its first tokens that pooling ignores, those of the prompt. */
    private int[] prompt = new int[8];
    /** Whether it is the last part of its text. */
    private boolean[] last = new boolean[8];
    /** The tokens of its text. */
    private int[] textTokens = new int[8];
    /** The tokens of its text that no part has, as the text is truncated. */
    private int[] ignored = new int[8];

    /** Describes a sequence, and says that it is the last part of a text without tokens beside its own. */
    void put(int sequence, int newTokens, int newPrompt) {
        if (sequence == tokens.length) {
            int longer = 2 * tokens.length;
            tokens = Arrays.copyOf(tokens, longer);
            prompt = Arrays.copyOf(prompt, longer);
            last = Arrays.copyOf(last, longer);
            textTokens = Arrays.copyOf(textTokens, longer);
            ignored = Arrays.copyOf(ignored, longer);
        }
        tokens[sequence] = newTokens;
        prompt[sequence] = newPrompt;
        putText(sequence, true, newTokens, 0);
    }

    /** Describes the text of a sequence. */
    void putText(int sequence, boolean isLast, int newTextTokens, int newIgnored) {
        last[sequence] = isLast;
        textTokens[sequence] = newTextTokens;
        ignored[sequence] = newIgnored;
    }

    int tokens(int sequence) {
        return tokens[sequence];
    }

    int prompt(int sequence) {
        return prompt[sequence];
    }

    boolean isLast(int sequence) {
        return last[sequence];
    }

    int textTokens(int sequence) {
        return textTokens[sequence];
    }

    int ignored(int sequence) {
        return ignored[sequence];
    }
}

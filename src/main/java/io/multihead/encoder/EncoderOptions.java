package io.multihead.encoder;

import io.multihead.internal.base.Checks;

/**
 * How an encoder makes vectors of texts. Immutable.
 *
 * @param pooling how tokens become one vector
 * @param normalized whether vectors have length 1
 * @param maxTokens tokens of one text, or of one part of it, {@code [CLS]} and {@code [SEP]} included; at least 3
 * @param longTexts what happens to longer texts
 * @param prompt what is put before each text; empty for nothing
 */
record EncoderOptions(Pooling pooling, boolean normalized, int maxTokens, LongTexts longTexts, String prompt) {
    EncoderOptions {
        Checks.notNull(pooling, "pooling");
        Checks.atLeast(maxTokens, 3, "maxTokens");
        Checks.notNull(longTexts, "longTexts");
        Checks.notNull(prompt, "prompt");
    }

    EncoderOptions withPooling(Pooling changed) {
        return new EncoderOptions(changed, normalized, maxTokens, longTexts, prompt);
    }

    EncoderOptions withNormalization(boolean changed) {
        return new EncoderOptions(pooling, changed, maxTokens, longTexts, prompt);
    }

    EncoderOptions withMaxTokens(int changed) {
        return new EncoderOptions(pooling, normalized, changed, longTexts, prompt);
    }

    EncoderOptions withLongTexts(LongTexts changed) {
        return new EncoderOptions(pooling, normalized, maxTokens, changed, prompt);
    }

    EncoderOptions withPrompt(String changed) {
        return new EncoderOptions(pooling, normalized, maxTokens, longTexts, changed);
    }

    /** Returns how many tokens a batch has at most: more than usual where one text may have more. */
    int batchTokens() {
        return Math.max(maxTokens, BertConfig.BATCH_TOKENS);
    }
}

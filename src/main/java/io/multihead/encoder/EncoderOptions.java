package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.layer.Normalization;
import io.multihead.internal.encoder.layer.PoolingConfig;
import io.multihead.model.Pooling;
import java.util.List;

/**
 * The conversion of token states to a vector. Immutable.
 *
 * @param pooling the functions from token states to one vector, whose results are concatenated, and whether they include the tokens of the
 *     prompt
 * @param normalization whether vectors have length 1
 * @param dimension the largest number of elements of a vector, at least 1; longer vectors are truncated
 * @param maxTokens the largest number of tokens of a text, or of a part of a text, including {@code [CLS]} and {@code [SEP]}; at least 3,
 *     or 1 for static embeddings
 * @param longTexts the treatment of longer texts
 * @param prompt the prefix of each text; empty for none
 */
record EncoderOptions(
        PoolingConfig pooling,
        Normalization normalization,
        int dimension,
        int maxTokens,
        LongTexts longTexts,
        String prompt) {
    /** The dimension of vectors that are not truncated. */
    static final int WHOLE = Integer.MAX_VALUE;

    EncoderOptions {
        Checks.notNull(pooling, "pooling");
        Checks.notNull(normalization, "normalization");
        Checks.atLeast(dimension, 1, "dimension");
        Checks.atLeast(maxTokens, 1, "maxTokens");
        Checks.notNull(longTexts, "longTexts");
        Checks.notNull(prompt, "prompt");
    }

    EncoderOptions withPooling(List<Pooling> changed) {
        PoolingConfig modes = new PoolingConfig(changed, pooling.includesPrompt());
        return new EncoderOptions(modes, normalization, dimension, maxTokens, longTexts, prompt);
    }

    EncoderOptions withNormalization(Normalization changed) {
        return new EncoderOptions(pooling, changed, dimension, maxTokens, longTexts, prompt);
    }

    EncoderOptions withDimension(int changed) {
        return new EncoderOptions(pooling, normalization, changed, maxTokens, longTexts, prompt);
    }

    EncoderOptions withMaxTokens(int changed) {
        return new EncoderOptions(pooling, normalization, dimension, changed, longTexts, prompt);
    }

    EncoderOptions withLongTexts(LongTexts changed) {
        return new EncoderOptions(pooling, normalization, dimension, maxTokens, changed, prompt);
    }

    EncoderOptions withPrompt(String changed) {
        return new EncoderOptions(pooling, normalization, dimension, maxTokens, longTexts, changed);
    }
}

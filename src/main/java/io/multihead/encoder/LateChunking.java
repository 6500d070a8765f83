package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * Vectors of consecutive parts of one text, which an encoder reads as a whole. The vector of a part therefore depends on the other parts, too
 * (Guenther et al. 2024, "Late Chunking"). Thread-safe.
 */
public final class LateChunking {
    private LateChunking() {}

    /**
     * Computes the vectors of the parts of a text. The vector of a part is the mean of the states of its tokens, independent of the pooling
     * of the encoder. It passes through the encoder's dense layers, normalization and dimension, like vectors of texts. Tokens of the
     * prompt and special tokens around the text are read, but belong to no part. A token that crosses a border belongs to the part with its
     * last character.
     *
     * @param encoder the encoder, which reads the prompt and the text
     * @param chunks the parts of a text in their order; their concatenation is the whole text, including its spaces
     * @return a new array of {@link SentenceEncoder#dimension} elements for each part
     * @throws IllegalArgumentException if a part has no token, the parts together have more tokens than {@link SentenceEncoder#maxTokens}, or the
     *     encoder has several poolings; nothing is computed
     * @throws IllegalStateException if the encoder or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public static float[][] embed(SentenceEncoder encoder, List<String> chunks) {
        Checks.notNull(encoder, "encoder");
        List<String> parts = Checks.noNulls(chunks, "chunks");
        EncoderOptions options = encoder.options;
        if (options.pooling().modes().size() != 1) {
            throw Checks.fail(
                    "encoder", options.pooling().modes().toString(), "expected one pooling, which the mean replaces");
        }
        return parts.isEmpty()
                ? new float[0][]
                : new ChunkRun(encoder.loaded.core(), encoder.loaded.dense(), options, parts).run();
    }
}

package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * Vectors of consecutive parts of one text, which an encoder reads as a whole, so that each part is understood by what stands around it
 * (Guenther et al. 2024, "Late Chunking"). Thread-safe, as encoders are.
 */
public final class LateChunking {
    private LateChunking() {}

    /**
     * Computes the vectors of the parts of a text. The vector of a part is the mean of the states of its tokens, whatever the pooling of the encoder
     * is, and passes through its dense layers, normalization and dimension as vectors of texts do. Tokens of the prompt and those around the text
     * are read and belong to no part; one that goes over a border belongs to the part that has its last character.
     *
     * @param encoder reads the text, with its prompt before it
     * @param chunks the parts of a text in their order, which together are the text, with the spaces between them
     * @return a new array of {@link SentenceEncoder#dimension} elements for each part
     * @throws IllegalArgumentException if a part has no token of its own, all together have more tokens than {@link SentenceEncoder#maxTokens}, or
     *     the encoder has several poolings, whose vectors are longer than a state; none is computed then
     * @throws IllegalStateException if the encoder or its Compute is closed
     */
    public static float[][] embed(SentenceEncoder encoder, List<String> chunks) {
        Checks.notNull(encoder, "encoder");
        List<String> parts = Checks.noNulls(chunks, "chunks");
        EncoderOptions options = encoder.options;
        if (options.pooling().modes().size() != 1) {
            throw Checks.fail(
                    "encoder",
                    options.pooling().modes().toString(),
                    "expected one pooling, whose place the mean takes");
        }
        return parts.isEmpty()
                ? new float[0][]
                : new ChunkRun(encoder.loaded.core(), encoder.loaded.dense(), options, parts).run();
    }
}

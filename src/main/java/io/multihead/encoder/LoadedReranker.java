package io.multihead.encoder;

/**
 * What a folder has of a cross-encoder.
 *
 * @param core the model with its head, which reads some of its weights from a mapped file, and its tokenizer
 * @param activation what outputs become
 * @param maxTokens tokens of a pair
 * @param unmapping of the mapped file; closed by the receiver
 */
record LoadedReranker(EncoderCore core, ScoreActivation activation, int maxTokens, Unmapping unmapping) {
    void close() {
        unmapping.close();
    }
}

package io.multihead.encoder;

import java.lang.foreign.Arena;

/**
 * What a folder has of a cross-encoder.
 *
 * @param core the model with its head, which reads some of its weights from a mapped file, and its tokenizer
 * @param activation what outputs become
 * @param maxTokens tokens of a pair
 * @param arena of the mapped file; closed by the receiver
 */
record LoadedReranker(EncoderCore core, ScoreActivation activation, int maxTokens, Arena arena) {
    /** Unmaps the weights; another time it does nothing, whichever thread closes first. */
    synchronized void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}

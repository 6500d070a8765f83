package io.multihead.encoder;

/**
 * What a folder has of a cross-encoder.
 *
 * @param core the model with its head and its tokenizer; closed by the receiver
 * @param activation what outputs become
 * @param maxTokens tokens of a pair
 */
record LoadedReranker(EncoderCore core, ScoreActivation activation, int maxTokens) {}

package io.multihead.decoder;

/**
 * A candidate for the next token.
 *
 * @param id the token
 * @param logProbability the logarithm of its probability in the model, without temperature, penalties and constraints
 */
public record TokenProbability(int id, double logProbability) {}

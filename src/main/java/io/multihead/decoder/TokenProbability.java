package io.multihead.decoder;

/**
 * A token that might have been chosen.
 *
 * @param id the token
 * @param logProbability logarithm of its probability by the model alone, without temperature, penalties and constraints
 */
public record TokenProbability(int id, double logProbability) {}

package io.multihead.decoder;

/**
 * What sessions have gained by beginning with what others left in memory. Immutable.
 *
 * @param hits prompts that began so
 * @param savedTokens their tokens that were not computed again
 * @param keptBytes bytes that are kept now and that no open session has; they are given up where sessions need them
 */
public record PrefixReuse(long hits, long savedTokens, long keptBytes) {}

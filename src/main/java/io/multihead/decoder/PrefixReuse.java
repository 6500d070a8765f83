package io.multihead.decoder;

/**
 * Counts of prompts that began with prefixes which earlier sessions left in memory. Immutable.
 *
 * @param hits prompts that began so
 * @param savedTokens their tokens that were not computed again
 * @param keptBytes bytes that are kept now and that no open session has; they are given up where sessions need them
 */
public record PrefixReuse(long hits, long savedTokens, long keptBytes) {}

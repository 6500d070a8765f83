package io.multihead.decoder;

/**
 * Counts of prompts that began with a cached prefix of an earlier session. Immutable.
 *
 * @param hits the number of these prompts
 * @param savedTokens the number of their tokens that were not computed again
 * @param keptBytes bytes of cached prefixes that no open session uses; they are evicted when sessions need the
 *     memory
 */
public record PrefixReuse(long hits, long savedTokens, long keptBytes) {}

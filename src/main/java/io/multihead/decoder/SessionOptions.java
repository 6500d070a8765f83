package io.multihead.decoder;

import io.multihead.cache.CacheFormat;
import io.multihead.internal.base.Checks;
import java.time.Duration;

/**
 * The memory that sessions may keep. Immutable.
 *
 * <p>A session takes:
 *
 * <ul>
 *   <li>native memory for keys and values, {@link LanguageModel#bytesPerToken} for each token, in pages of 64 tokens;
 *   <li>for models with recurrent states, heap for at most four states per session, of which three are snapshots; the sessions share this
 *     budget;
 *   <li>heap for ids, four to eight bytes for each token, and at most one bit for each token of the vocabulary.
 * </ul>
 *
 * <p>All other memory belongs to a running call for one session or for many, and is kept for later calls. The logits of a step take four bytes
 * for each token of the vocabulary, for each session and each draft token. Sampling takes another four bytes for each token of the vocabulary,
 * once for all sessions of the call, or eight if penalties count generated tokens. The sessions of one {@link Sessions} share the activations of
 * a batch and 16 rows of its logits.
 *
 * @param contextTokens the largest number of tokens of one session, at least 1; 0 for the context of the model's training
 * @param sessions the number of sessions of that length that fit in memory at the same time, at least 1. Any number of sessions may be
 *     open. If they need more memory, calls wait for each other, and evicted sessions are computed again when they continue
 * @param cacheFormat the element type of keys and values
 * @param maxWait the longest time that a call waits, without a step, for memory of other sessions; with zero, the call fails at once
 * @param keepsPrefixes whether keys and values of closed sessions stay in memory, until other sessions need it, for prompts that begin with
 *     the same tokens. The texts do not change, and they begin earlier. The time to the first token reveals whether such a session existed
 */
public record SessionOptions(
        int contextTokens, int sessions, CacheFormat cacheFormat, Duration maxWait, boolean keepsPrefixes) {
    /**
     * One session of the model's whole context, with keys and values in f16, as in llama.cpp. Calls without room in the cache wait up to
     * five minutes, and prefixes are kept.
     */
    public static final SessionOptions DEFAULT = new SessionOptions(0, 1, CacheFormat.F16, Duration.ofMinutes(5), true);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if a value is out of range
     */
    public SessionOptions {
        Checks.atLeast(contextTokens, 0, "contextTokens");
        Checks.atLeast(sessions, 1, "sessions");
        Checks.notNull(cacheFormat, "cacheFormat");
        if (Checks.notNull(maxWait, "maxWait").isNegative()) {
            throw Checks.fail("maxWait", maxWait.toString(), "expected at least zero");
        }
    }

    /**
     * {@return these options with sessions of another length}
     *
     * @param newContextTokens the largest number of tokens of one session
     */
    public SessionOptions withContextTokens(int newContextTokens) {
        return new SessionOptions(newContextTokens, sessions, cacheFormat, maxWait, keepsPrefixes);
    }

    /**
     * {@return these options with room for another number of sessions}
     *
     * @param newSessions the number of sessions that fit in memory at the same time
     */
    public SessionOptions withSessions(int newSessions) {
        return new SessionOptions(contextTokens, newSessions, cacheFormat, maxWait, keepsPrefixes);
    }

    /**
     * {@return these options with another format of keys and values}
     *
     * @param newCacheFormat the format. I8 has one scale per key; {@link CacheFormat#I8_BLOCKS} is for models with some channels of keys that
     *     are far larger than others
     */
    public SessionOptions withCacheFormat(CacheFormat newCacheFormat) {
        return new SessionOptions(contextTokens, sessions, newCacheFormat, maxWait, keepsPrefixes);
    }

    /**
     * {@return these options with or without cached prefixes}
     *
     * @param wanted whether keys and values of closed sessions are kept for prompts with the same
     *     beginning
     */
    public SessionOptions withKeptPrefixes(boolean wanted) {
        return new SessionOptions(contextTokens, sessions, cacheFormat, maxWait, wanted);
    }

    /**
     * {@return these options with another maximum wait}. A call that has waited for this time fails with a
     * {@link io.multihead.cache.CacheFullException}.
     *
     * @param newMaxWait the maximum wait of a call for memory, at least zero
     */
    public SessionOptions withMaxWait(Duration newMaxWait) {
        return new SessionOptions(contextTokens, sessions, cacheFormat, newMaxWait, keepsPrefixes);
    }
}

package io.multihead.decoder;

import io.multihead.cache.CacheFormat;
import io.multihead.internal.base.Checks;
import java.time.Duration;

/**
 * How much sessions may keep. Immutable.
 *
 * <p>A session takes in all:
 *
 * <ul>
 *   <li>native memory for keys and values, {@link LanguageModel#bytesPerToken} for each token, in pages of 64 tokens;
 *   <li>for models with recurrent states, heap for at most four states a session, of which three are snapshots; the sessions share this
 *       budget;
 *   <li>heap for ids, four to eight bytes for each token, and at most one bit for each token of the vocabulary.
 * </ul>
 *
 * <p>Everything else belongs to a call that runs, whether for one session or for many, and is kept for the next calls: the logits of its step,
 * four bytes for each token of the vocabulary, of each session and of each draft token; and to choose from them another four bytes for each token
 * of the vocabulary, once for all sessions of the call, eight where penalties count generated tokens. The sessions of one {@link Sessions}
 * share the activations of a batch and 16 rows of its logits.
 *
 * @param contextTokens most tokens of one session, at least 1; 0 for as many as the model was trained for
 * @param sessions how many sessions of that length have room at the same time, at least 1. Any number may be open: where they need more
 *     together, calls wait for each other, and sessions that no call uses are computed again when they go on
 * @param cacheFormat the element type of keys and values
 * @param maxWait the longest time that a call waits, without a step of its own, for memory of other sessions; with zero it fails at once
 * @param keepsPrefixes whether sessions that are closed leave their keys and values, as long as no other session needs the memory, to those
 *     whose prompts begin with the same tokens. Texts are the same, and begin sooner; how soon tells whether there was such a session
 */
public record SessionOptions(
        int contextTokens, int sessions, CacheFormat cacheFormat, Duration maxWait, boolean keepsPrefixes) {
    /**
     * One session of the model's whole context, with keys and values in f16, as llama.cpp keeps them; calls for which there is no room wait
     * five minutes, and prefixes are kept.
     */
    public static final SessionOptions DEFAULT = new SessionOptions(0, 1, CacheFormat.F16, Duration.ofMinutes(5), true);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if one is out of range
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
     * @param newContextTokens most tokens of one session
     */
    public SessionOptions withContextTokens(int newContextTokens) {
        return new SessionOptions(newContextTokens, sessions, cacheFormat, maxWait, keepsPrefixes);
    }

    /**
     * {@return these options with room for another number of sessions}
     *
     * @param newSessions how many have room at the same time
     */
    public SessionOptions withSessions(int newSessions) {
        return new SessionOptions(contextTokens, newSessions, cacheFormat, maxWait, keepsPrefixes);
    }

    /**
     * {@return these options with keys and values stored otherwise}
     *
     * @param newCacheFormat the element type, of which I8 has a scale per key, or {@link CacheFormat#I8_BLOCKS}, for models with keys of which
     *     some channels are far larger than others
     */
    public SessionOptions withCacheFormat(CacheFormat newCacheFormat) {
        return new SessionOptions(contextTokens, sessions, newCacheFormat, maxWait, keepsPrefixes);
    }

    /**
     * {@return these options with or without prefixes that are kept}
     *
     * @param wanted whether sessions leave their keys and values to others that begin alike
     */
    public SessionOptions withKeptPrefixes(boolean wanted) {
        return new SessionOptions(contextTokens, sessions, cacheFormat, maxWait, wanted);
    }

    /**
     * {@return these options with another time to wait}. A call that has waited so long fails with a {@link
     * io.multihead.cache.CacheFullException}.
     *
     * @param newMaxWait most time that a call waits for memory, at least zero
     */
    public SessionOptions withMaxWait(Duration newMaxWait) {
        return new SessionOptions(contextTokens, sessions, cacheFormat, newMaxWait, keepsPrefixes);
    }
}

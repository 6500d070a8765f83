package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;

/**
 * How much sessions may keep. Immutable.
 *
 * @param contextTokens most tokens of one session, at least 1; 0 for as many as the model was trained for
 * @param sessions how many sessions of that length have room at the same time, at least 1. More may be open as long as they are shorter,
 *     or share what they began with
 * @param cacheType element type of keys and values: F32, F16, BF16 or I8
 */
public record SessionOptions(int contextTokens, int sessions, DType cacheType) {
    /** One session of the model's whole context, with keys and values in f16, as llama.cpp keeps them. */
    public static final SessionOptions DEFAULT = new SessionOptions(0, 1, DType.F16);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if one is out of range, or the type is F64
     */
    public SessionOptions {
        Checks.atLeast(contextTokens, 0, "contextTokens");
        Checks.atLeast(sessions, 1, "sessions");
        if (Checks.notNull(cacheType, "cacheType") == DType.F64) {
            throw Checks.fail("cacheType", "F64", "expected F32, F16, BF16 or I8");
        }
    }

    /**
     * {@return these options with sessions of another length}
     *
     * @param newContextTokens most tokens of one session
     */
    public SessionOptions withContextTokens(int newContextTokens) {
        return new SessionOptions(newContextTokens, sessions, cacheType);
    }

    /**
     * {@return these options with room for another number of sessions}
     *
     * @param newSessions how many have room at the same time
     */
    public SessionOptions withSessions(int newSessions) {
        return new SessionOptions(contextTokens, newSessions, cacheType);
    }

    /**
     * {@return these options with another element type of keys and values}
     *
     * @param newCacheType F32, F16, BF16 or I8
     */
    public SessionOptions withCacheType(DType newCacheType) {
        return new SessionOptions(contextTokens, sessions, newCacheType);
    }
}

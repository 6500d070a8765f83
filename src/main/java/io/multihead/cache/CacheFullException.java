package io.multihead.cache;

import io.multihead.internal.base.Checks;

/** Thrown when a cache has no free page, or a sequence has reached its maximum; nothing changes. */
public final class CacheFullException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message names the full cache and the required room
     */
    public CacheFullException(String message) {
        super(Checks.notNull(message, "message"));
    }
}

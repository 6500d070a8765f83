package io.multihead.cache;

/** A cache has no page left, or a sequence no room; nothing has changed. */
public final class CacheFullException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    CacheFullException(String message) {
        super(message);
    }
}

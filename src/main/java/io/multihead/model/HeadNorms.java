package io.multihead.model;

import org.jspecify.annotations.Nullable;

/** The norms of heads, before they are rotated; null for none. */
record HeadNorms(
        @Nullable Norm queries,
        @Nullable Norm keys,
        @Nullable Norm values) {
    static final HeadNorms NONE = new HeadNorms(null, null, null);
}

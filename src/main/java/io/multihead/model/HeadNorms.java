package io.multihead.model;

import org.jspecify.annotations.Nullable;

/** The norms of heads, which are applied before the rotation; null for none. */
record HeadNorms(
        @Nullable Norm queries,
        @Nullable Norm keys,
        @Nullable Norm values) {
    static final HeadNorms NONE = new HeadNorms(null, null, null);
}

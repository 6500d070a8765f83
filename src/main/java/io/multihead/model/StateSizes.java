package io.multihead.model;

/**
 * The sizes of a part's state of each sequence between calls, one layer of a {@link io.multihead.cache.SequenceCache}: {@link
 * KeyValueSizes} or {@link RecurrentSizes}.
 */
public interface StateSizes {}

package io.multihead.model;

/**
 * What a part keeps of each sequence between calls, one layer of a {@link io.multihead.cache.SequenceCache}: {@link KeyValueSizes} or {@link
 * RecurrentSizes}.
 */
public interface StateSizes {}

package io.multihead.model;

/**
 * The sizes of the state that a part keeps of each sequence between calls: {@link KeyValueSizes} or {@link RecurrentSizes}. A {@link
 * io.multihead.cache.SequenceCache} stores such a state in one layer.
 */
public interface StateSizes {}

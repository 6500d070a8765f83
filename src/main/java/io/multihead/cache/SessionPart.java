package io.multihead.cache;

import io.multihead.compute.Compute;

/** Loads the sequences of one cache of a session file in two steps, so that nothing changes unless all caches have room. */
interface SessionPart {
    /** Fails if there is no room for all sequences. */
    void requireRoom();

    /** Opens the sequences, and returns their numbers. */
    int[] open(Compute cpu);
}

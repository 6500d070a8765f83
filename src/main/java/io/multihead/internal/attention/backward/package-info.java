/**
 * Backward (Dao 2023, algorithm 2): {@link io.multihead.internal.attention.backward.BackwardCall} runs the tasks of a {@link
 * io.multihead.internal.attention.backward.BackwardSchedule}; each thread uses its own worker.
 */
@NullMarked
package io.multihead.internal.attention.backward;

import org.jspecify.annotations.NullMarked;

/**
 * Forward: {@link io.multihead.internal.attention.forward.ForwardCall} runs the tasks of a {@link
 * io.multihead.internal.attention.forward.ForwardSchedule}; each thread uses its own worker, which is the loop of FlashAttention. The
 * package also has the softmax of given scores and the merging of states.
 */
@NullMarked
package io.multihead.internal.attention.forward;

import org.jspecify.annotations.NullMarked;

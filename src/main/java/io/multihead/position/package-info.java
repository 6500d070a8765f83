/** Positions of tokens: rotary position embedding, sinusoids, and the slopes of attention with linear
 * biases. */
@NullMarked
package io.multihead.position;

import org.jspecify.annotations.NullMarked;

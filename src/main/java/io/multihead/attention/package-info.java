/** Scaled dot-product attention with masks, grouped heads, log-sum-exp, gradients, and sequences of any lengths. */
@NullMarked
package io.multihead.attention;

import org.jspecify.annotations.NullMarked;

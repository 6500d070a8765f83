/** Scaled dot-product attention: tiled and materialising, with masks, grouped heads and log-sum-exp. */
@NullMarked
package io.multihead.attention;

import org.jspecify.annotations.NullMarked;

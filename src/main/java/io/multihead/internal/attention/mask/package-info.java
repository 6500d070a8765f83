/** Masks resolved against the sizes of one call, and all transforms of a row of scores before the softmax. */
@NullMarked
package io.multihead.internal.attention.mask;

import org.jspecify.annotations.NullMarked;

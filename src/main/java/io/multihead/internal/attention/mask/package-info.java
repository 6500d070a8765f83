/** Masks resolved against the sizes of one call, and all that is done to a row of scores before the softmax. */
@NullMarked
package io.multihead.internal.attention.mask;

import org.jspecify.annotations.NullMarked;

/** Keys and values kept between steps, in the panels that attention reads in place. */
@NullMarked
package io.multihead.cache;

import org.jspecify.annotations.NullMarked;

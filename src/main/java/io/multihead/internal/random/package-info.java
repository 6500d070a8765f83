/** Random numbers that are a function of seed and position. Not part of the API. */
@NullMarked
package io.multihead.internal.random;

import org.jspecify.annotations.NullMarked;

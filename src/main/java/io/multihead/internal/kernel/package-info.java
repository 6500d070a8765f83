/**
 * Straight-line vector code. The only package that imports {@code jdk.incubator.vector}. Not part of the API.
 *
 * <p>Everything here works on {@code float[]} scratch: packing reads user memory into it, write-back leaves it, and
 * what lies between is f32, contiguous and free of tails. A kernel is one static method with {@code int} counters; a vector
 * never crosses a call, because one that is not inlined would box it (measured: a factor of ten and more).
 */
@NullMarked
package io.multihead.internal.kernel;

import org.jspecify.annotations.NullMarked;

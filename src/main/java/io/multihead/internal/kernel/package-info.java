/**
 * Straight-line vector code: all files that import {@code jdk.incubator.vector}, and no others. Not part of the API.
 *
 * <p>Kernels work on {@code float[]} scratch, which is contiguous and padded and therefore has no tails, and on the storage of panels. A
 * kernel is one static method with {@code int} counters. No vector is passed to a method, because a call that is not inlined would box it
 * (measured: slower by a factor of ten or more).
 */
@NullMarked
package io.multihead.internal.kernel;

import org.jspecify.annotations.NullMarked;

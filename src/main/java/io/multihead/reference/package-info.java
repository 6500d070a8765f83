/**
 * The specification: every kernel again as plain loops in {@code double}, and the error bounds that the kernels promise.
 *
 * <p>Slow on purpose, single-threaded, and never called by the library. Tests, benchmarks and users compare with it.
 */
@NullMarked
package io.multihead.reference;

import org.jspecify.annotations.NullMarked;

/**
 * The specification: every kernel as plain loops in {@code double}, and the error bounds that the kernels promise.
 *
 * <p>It is intentionally slow, single-threaded, and never called by the library. Tests, benchmarks and users compare
 * results with it.
 */
@NullMarked
package io.multihead.reference;

import org.jspecify.annotations.NullMarked;

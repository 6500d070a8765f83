/**
 * The methods with which the packages above {@code compute} run a call: take scratch memory, run parallel loops, check tensors. Not part of
 * the API.
 */
@NullMarked
package io.multihead.internal.call;

import org.jspecify.annotations.NullMarked;

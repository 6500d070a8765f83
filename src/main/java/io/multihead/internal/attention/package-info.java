/**
 * The engine of attention: the parts that forward and backward share. {@link io.multihead.internal.attention.AttentionBlocking} has all
 * block sizes, and {@link io.multihead.internal.attention.AttentionProblem} the parameters of one call. Masks, sources of keys and values,
 * forward and backward are packages below. Not part of the API.
 */
@NullMarked
package io.multihead.internal.attention;

import org.jspecify.annotations.NullMarked;

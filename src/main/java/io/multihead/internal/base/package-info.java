/**
 * Utilities of all packages: argument checks and their messages, positions of tokens among them; the check for the Vector API, warnings
 * about slow conditions, and the warm-up of kernels; JSON, files that appear completely or not at all, native memory, and random numbers
 * from a seed and a counter. Not part of the API.
 */
@NullMarked
package io.multihead.internal.base;

import org.jspecify.annotations.NullMarked;

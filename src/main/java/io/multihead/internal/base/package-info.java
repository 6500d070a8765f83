/**
 * Utilities of all packages: argument checks and their messages, positions of tokens among them; the check for the Vector API, warnings of
 * slow conditions, and the warm-up of kernels; JSON, files that appear whole, native memory, and random numbers by seed and counter. Not
 * part of the API.
 */
@NullMarked
package io.multihead.internal.base;

import org.jspecify.annotations.NullMarked;

/** Argument checks and their messages; the gate that says which flag is missing. Not part of the API. */
@NullMarked
package io.multihead.internal;

import org.jspecify.annotations.NullMarked;

/** Argument checks and their messages, the check for the Vector API, warnings of slow conditions, and JSON. Not part of the API. */
@NullMarked
package io.multihead.internal.base;

import org.jspecify.annotations.NullMarked;

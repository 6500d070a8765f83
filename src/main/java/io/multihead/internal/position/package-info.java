/**
 * The engine of rotary embedding: angles of positions and of tokens, and the loops that rotate rows by them. Knows no
 * configuration. Not part of the API.
 */
@NullMarked
package io.multihead.internal.position;

import org.jspecify.annotations.NullMarked;

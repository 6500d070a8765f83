/**
 * The engine of rotary embedding: angles of positions and of tokens, and the loops that rotate rows by them. The
 * package does not depend on configurations. Not part of the API.
 */
@NullMarked
package io.multihead.internal.position;

import org.jspecify.annotations.NullMarked;

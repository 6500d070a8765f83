/** The notations in which families of models write calls of tools: read from answers as they are generated, and as grammars. */
@NullMarked
package io.multihead.internal.toolcall;

import org.jspecify.annotations.NullMarked;

/** Constraints on the tokens of a text: filters, JSON by schema, and grammars in GBNF. */
@NullMarked
package io.multihead.grammar;

import org.jspecify.annotations.NullMarked;

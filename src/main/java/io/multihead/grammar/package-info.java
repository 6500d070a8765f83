/** Constraints on the tokens of a text: filters, JSON schemas, and grammars in GBNF. */
@NullMarked
package io.multihead.grammar;

import org.jspecify.annotations.NullMarked;

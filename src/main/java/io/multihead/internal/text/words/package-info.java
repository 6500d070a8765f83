/** The division of a text into the words within which pairs are merged. Not part of the API. */
@NullMarked
package io.multihead.internal.text.words;

import org.jspecify.annotations.NullMarked;

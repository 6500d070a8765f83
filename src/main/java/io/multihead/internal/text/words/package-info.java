/** How a text is divided into the words within which pairs are merged. Not part of the API. */
@NullMarked
package io.multihead.internal.text.words;

import org.jspecify.annotations.NullMarked;

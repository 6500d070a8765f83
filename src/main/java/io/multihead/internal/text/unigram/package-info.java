/** Pieces of a Unigram model, and the normalizers before them. Not part of the API. */
@NullMarked
package io.multihead.internal.text.unigram;

import org.jspecify.annotations.NullMarked;

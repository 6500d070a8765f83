/** The model of WordPiece, and the files that describe it. Not part of the API. */
@NullMarked
package io.multihead.internal.text.wordpiece;

import org.jspecify.annotations.NullMarked;

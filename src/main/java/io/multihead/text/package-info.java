/** Text as token ids: the WordPiece tokenizer of BERT models. */
@NullMarked
package io.multihead.text;

import org.jspecify.annotations.NullMarked;

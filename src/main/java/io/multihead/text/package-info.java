/** Text as token ids: the WordPiece tokenizer of BERT models, and tokenizers of language models ({@link io.multihead.text.Tokenizer}). */
@NullMarked
package io.multihead.text;

import org.jspecify.annotations.NullMarked;

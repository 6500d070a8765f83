/** Sentence embeddings: text in, vectors out, with the weights of trained BERT models. */
@NullMarked
package io.multihead.encoder;

import org.jspecify.annotations.NullMarked;

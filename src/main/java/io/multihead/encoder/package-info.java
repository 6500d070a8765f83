/** Sentence embeddings and rerankers: text in, vectors or scores out, with the weights of trained BERT models. */
@NullMarked
package io.multihead.encoder;

import org.jspecify.annotations.NullMarked;

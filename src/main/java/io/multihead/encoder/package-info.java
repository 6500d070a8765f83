/** Sentence embeddings and rerankers, which compute vectors and scores of texts with the weights of trained BERT models. */
@NullMarked
package io.multihead.encoder;

import org.jspecify.annotations.NullMarked;

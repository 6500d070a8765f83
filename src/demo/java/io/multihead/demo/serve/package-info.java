/** A server of language models, embeddings and rerankers with OpenAI's protocol. */
@NullMarked
package io.multihead.demo.serve;

import org.jspecify.annotations.NullMarked;

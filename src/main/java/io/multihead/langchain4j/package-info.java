/** Sentence embeddings, rerankers and chats for langchain4j. It needs {@code dev.langchain4j:langchain4j-core}, which no other part of the
 * library needs. */
@NullMarked
package io.multihead.langchain4j;

import org.jspecify.annotations.NullMarked;

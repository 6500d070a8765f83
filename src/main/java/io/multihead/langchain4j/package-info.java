/** Sentence embeddings, rerankers and chats for langchain4j. Needs {@code dev.langchain4j:langchain4j-core}, which nothing else of the library does. */
@NullMarked
package io.multihead.langchain4j;

import org.jspecify.annotations.NullMarked;

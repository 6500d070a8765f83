package io.multihead.model;

import java.util.List;
import java.util.Map;

/**
 * Computes the vector of a text with an encoder, a table of static embeddings or a language model. Programs that store and compare
 * vectors need not know the kind of model.
 *
 * <p>Embedders are immutable and thread-safe; the {@code for} and {@code with} methods return new embedders that share the model. The
 * vector of a text has the same bits alone and in any batch. If the calling thread is interrupted, a call ends before its next batch with
 * a {@link java.util.concurrent.CancellationException}, and the thread stays interrupted.
 */
public interface Embedder {
    /** {@return the number of elements of a vector} */
    int dimension();

    /** {@return the largest number of tokens that are read of a text, with its prompt and special tokens; {@link Integer#MAX_VALUE}
     * without a limit} */
    int maxTokens();

    /** {@return the prompts of the model by name, unmodifiable; empty if it has none} */
    Map<String, String> prompts();

    /**
     * {@return an embedder of the same model that puts a prompt before each text, such as {@code "query: "}}
     *
     * @param prompt the text; empty for none
     */
    Embedder withPrompt(String prompt);

    /**
     * {@return an embedder of the same model with vectors of length 1, or with vectors that are not normalized}
     *
     * @param normalized whether vectors have length 1
     */
    Embedder withNormalization(boolean normalized);

    /** {@return an embedder of the same model with its prompt for queries, or its default prompt} */
    Embedder forQueries();

    /** {@return an embedder of the same model with its prompt for documents, or its default prompt} */
    Embedder forDocuments();

    /**
     * Computes the vector of a text.
     *
     * @param text any text; the class documents whether it may be empty, or longer than {@link #maxTokens}
     * @return a new array
     */
    float[] embed(String text);

    /**
     * Computes the vectors of texts.
     *
     * @param texts any texts, as {@link #embed(String)} takes them
     * @return a new array for each text, in the order of the texts
     */
    float[][] embed(List<String> texts);
}

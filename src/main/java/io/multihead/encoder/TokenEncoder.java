package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.gemm.MaxSim;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.TokenEncoderFolder;
import io.multihead.internal.encoder.run.TokenFormat;
import io.multihead.internal.load.Loading;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Vectors of the tokens of texts, for late interaction (Khattab and Zaharia 2020, "ColBERT"): a BERT model's states are projected to fewer
 * elements and have length 1. A query is padded with mask tokens to a fixed length, and each mask token has a vector. Punctuation of documents
 * has no vectors. A skip list in the folder replaces the list of punctuation, and may contain {@code [CLS]}.
 *
 * <p>Texts are packed into batches of about 512 tokens without padding. A vector has the same bits alone and in any batch, for any number of
 * threads and at every lane width.
 *
 * <p>Immutable and thread-safe; virtual threads may call it. {@link #close} frees the weights; the caller owns the {@link Compute}.
 */
public final class TokenEncoder implements AutoCloseable {
    private final TokenEncoderFolder.Loaded loaded;
    private final EncoderCore core;
    private final PackedLinear projection;
    private final TokenFormat queries;
    private final TokenFormat documents;

    private TokenEncoder(TokenEncoderFolder.Loaded loaded) {
        this.loaded = loaded;
        core = loaded.core();
        projection = loaded.projection().linear();
        TokenFormat.Ids ids = TokenFormat.Ids.of(core.tokenizer, core.model.config.vocabulary());
        queries = TokenFormat.ofQueries(ids, loaded.settings());
        documents = TokenFormat.ofDocuments(ids, loaded.settings());
    }

    /**
     * Loads a model from a folder as PyLate writes it ({@code modules.json} with a Transformer and a Dense module, and settings in {@code
     * config_sentence_transformers.json}), or as ColBERT's authors write it ({@code HF_ColBERT}, and settings in {@code artifact.metadata}).
     * Settings that a file does not name have PyLate's defaults. Threads are used as in {@link SentenceEncoder#load}.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param folder the model's folder
     * @return the encoder
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException if a file is malformed or has an unsupported setting; the message names the file and the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static TokenEncoder load(Compute cpu, Path folder) throws IOException {
        return load(cpu, folder, EncoderLoadOptions.DEFAULT);
    }

    /**
     * Loads a model, with matrices and the word embedding table rounded to a format. Q8_0 takes 0.27 of the memory of f32; bf16 and f16 take
     * half. Other tables, biases and norms are not rounded.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param folder the model's folder
     * @param format the format of the weights
     * @return the encoder
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException as the other method does, or if the rows of a weight are not whole blocks of the format, or not all of
     *     its elements are finite; the message names the file and the weight
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static TokenEncoder load(Compute cpu, Path folder, WeightFormat format) throws IOException {
        return load(cpu, folder, EncoderLoadOptions.DEFAULT.withFormat(Checks.notNull(format, "format")));
    }

    /**
     * Loads a model with options, such as low-rank adapters.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param folder the model's folder
     * @param options the format of weights, and adapters
     * @return the encoder
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException as the other methods do, or if the adapters have another kind or are for another model; the message
     *     names the setting
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static TokenEncoder load(Compute cpu, Path folder, EncoderLoadOptions options) throws IOException {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(folder, "folder");
        TokenEncoderFolder.Loaded loaded = Checks.notNull(options, "options").load(cpu, folder, loading -> {
            EncoderGguf.refuse(folder, "neither prefixes nor lengths of queries and documents");
            return TokenEncoderFolder.load(loading, folder);
        });
        return loaded.core().orClose(() -> Checks.in(folder, () -> new TokenEncoder(loaded)));
    }

    /**
     * Maps an encoder that {@link #write} wrote: matrices and tables are read in place, and all processes that map the file share their memory.
     *
     * @param cpu threads of every call; the caller owns it
     * @param file the file, which must not be changed in place while it is mapped; {@link #write} replaces it
     * @return the encoder, which has the settings of the written encoder, and returns the same bits
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if the file is of another kind, or was written by a version of the library with another layout; the
     *     message names the file and the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static TokenEncoder map(Compute cpu, Path file) throws IOException {
        Loading loading = Loading.of(Checks.notNull(cpu, "cpu"));
        TokenEncoderFolder.Loaded loaded = TokenEncoderFolder.map(loading, Checks.notNull(file, "file"));
        return loaded.core().orClose(() -> Checks.in(file, () -> new TokenEncoder(loaded)));
    }

    /**
     * Writes this encoder to one file that {@link #map} maps, as {@link SentenceEncoder#write} does: packed weights, tokenizer and settings. The
     * complete file atomically replaces an older file; after an error, the older file is unchanged.
     *
     * @param file the file to write
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException if the path has no file name, or the tokenizer is not WordPiece, and its folder has no
     *     {@code tokenizer.json}
     * @throws IllegalStateException if the encoder is closed before or during the call
     */
    public void write(Path file) throws IOException {
        Checks.notNull(file, "file");
        core.requireOpen();
        TokenEncoderFolder.write(file, loaded);
    }

    /** {@return the number of elements of a vector} */
    public int dimension() {
        return projection.outputs();
    }

    /**
     * {@return the number of tokens of a query, including {@code [CLS]}, its prefix and {@code [SEP]}: the exact number if masks pad queries,
     * or else the largest number}
     */
    public int queryTokens() {
        return queries.most();
    }

    /** {@return the largest number of tokens that are read of a document, including {@code [CLS]}, its prefix and {@code
     * [SEP]}; the rest is ignored} */
    public int documentTokens() {
        return documents.most();
    }

    /** {@return the tokenizer} */
    public EncoderTokenizer tokenizer() {
        return core.tokenizer;
    }

    /**
     * Computes the vectors of queries.
     *
     * @param texts any texts
     * @return the vectors in the order of the texts
     * @throws IllegalStateException if the encoder or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public TokenVectors embedQueries(List<String> texts) {
        return new TokenRun(core, projection, queries).run(Checks.notNull(texts, "texts"));
    }

    /**
     * Computes the vectors of documents.
     *
     * @param texts any texts
     * @return the vectors in the order of the texts; at least one for each text
     * @throws IllegalStateException if the encoder or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public TokenVectors embedDocuments(List<String> texts) {
        return new TokenRun(core, projection, documents).run(Checks.notNull(texts, "texts"));
    }

    /**
     * Computes the scores of documents for a query with {@link MaxSim}.
     *
     * @param query any text
     * @param documentVectors vectors of documents from this model
     * @return a score for each document, in their order
     * @throws IllegalArgumentException if the vectors have another dimension
     * @throws IllegalStateException if the encoder or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public float[] score(String query, TokenVectors documentVectors) {
        Checks.notNull(documentVectors, "documentVectors");
        float[] scores = new float[documentVectors.texts()];
        Tensor queryVectors =
                embedQueries(List.of(Checks.notNull(query, "query"))).tensor();
        MaxSim.scores(
                core.cpu,
                queryVectors,
                documentVectors.tensor(),
                documentVectors.sharedOffsets(),
                Tensor.of(scores, scores.length));
        return scores;
    }

    /**
     * Frees the memory of the weights at once, mapped and packed. Later calls fail with {@link IllegalStateException}. Running calls may fail
     * with this exception, too. A second call has no effect.
     */
    @Override
    public void close() {
        core.close();
    }
}

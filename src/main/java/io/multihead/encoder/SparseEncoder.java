package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.run.IdleRuns;
import io.multihead.internal.load.Loading;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Sparse embeddings from a masked language model (Formal et al. 2021, "SPLADE" and "SPLADE v2"): the weight of a word of the vocabulary is
 * {@code log(1 + relu(logit))} of its largest logit at any token of the text. An inverted index can store such vectors.
 *
 * <p>Texts are packed into batches of about 512 tokens without padding. A vector has the same bits alone and in any batch, for any number of
 * threads and at every lane width. A warm call allocates its results.
 *
 * <p>Immutable and thread-safe; virtual threads may call it. {@link #close} frees the weights. The caller owns the {@link Compute}.
 */
public final class SparseEncoder implements AutoCloseable {
    private final SparseFolder.Loaded loaded;
    private final EncoderCore core;
    private final int maxTokens;
    private final IdleRuns<SparseRun> runs;

    private SparseEncoder(SparseFolder.Loaded loaded, int maxTokens, IdleRuns<SparseRun> runs) {
        this.loaded = loaded;
        this.core = loaded.core();
        this.maxTokens = maxTokens;
        this.runs = runs;
    }

    /**
     * Loads a model from a folder as sentence-transformers' SparseEncoder writes it ({@code modules.json} with an MLMTransformer, or a
     * Transformer whose task is {@code fill-mask}, and a SpladePooling module), or from the folder of a masked language model (BERT, RoBERTa or
     * XLM-R) as transformers writes it. Settings that a file does not name have the defaults of these libraries. Threads are used as in {@link
     * SentenceEncoder#load}.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param folder the model's folder
     * @return the encoder
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException if a file is malformed or has an unsupported setting, such as sums instead of maxima, prompts, or omitted
     *     tokens; the message names the file and the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static SparseEncoder load(Compute cpu, Path folder) throws IOException {
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
    public static SparseEncoder load(Compute cpu, Path folder, WeightFormat format) throws IOException {
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
    public static SparseEncoder load(Compute cpu, Path folder, EncoderLoadOptions options) throws IOException {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(folder, "folder");
        return of(Checks.notNull(options, "options").load(cpu, folder, loading -> {
            EncoderGguf.refuse(folder, "no head for masked words");
            return SparseFolder.load(loading, folder);
        }));
    }

    private static SparseEncoder of(SparseFolder.Loaded loaded) {
        IdleRuns<SparseRun> runs =
                new IdleRuns<>(() -> new SparseRun(loaded.core(), loaded.head(), loaded.activation()));
        return new SparseEncoder(loaded, loaded.maxTokens(), runs);
    }

    /**
     * Maps an encoder that {@link #write} wrote: matrices and tables are read in place, and all processes that map the file share their memory.
     *
     * @param cpu threads of every call; the caller owns it
     * @param file the file, which must not be changed in place while it is mapped; {@link #write} replaces it
     * @return the encoder, which has the length of the written encoder, and returns the same bits
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if the file is of another kind, or was written by a version of the library with another layout; the
     *     message names the file and the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static SparseEncoder map(Compute cpu, Path file) throws IOException {
        Loading loading = Loading.of(Checks.notNull(cpu, "cpu"));
        return of(SparseFolder.map(loading, Checks.notNull(file, "file")));
    }

    /**
     * Writes this encoder to one file that {@link #map} maps, as {@link SentenceEncoder#write} does: packed weights, tokenizer, activation and
     * length. The complete file atomically replaces an older file; after an error, the older file is unchanged.
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
        SparseFolder.write(file, loaded, maxTokens);
    }

    /**
     * Returns this encoder with another limit for the length of texts.
     *
     * @param changed the largest number of tokens of a text, including {@code [CLS]} and {@code [SEP]}; 3
     *     to the model's positions
     * @return a view that shares the weights: closing either closes both
     * @throws IllegalArgumentException if the number is outside this range
     */
    public SparseEncoder withMaxTokens(int changed) {
        return new SparseEncoder(loaded, core.requireLength(changed, core.tokenizer.specialTokenCount() + 1), runs);
    }

    /** {@return the largest number of tokens that are read of a text, including {@code [CLS]} and {@code [SEP]};
     * the rest is ignored} */
    public int maxTokens() {
        return maxTokens;
    }

    /** {@return the number of words that may have a weight; token ids are below this number} */
    public int vocabularySize() {
        return loaded.head().decoder().outputs();
    }

    /** {@return the tokenizer, which returns the word of an id} */
    public EncoderTokenizer tokenizer() {
        return core.tokenizer;
    }

    /** {@return the number of bytes of weights that only this process uses: packed matrices in native memory, and arrays} */
    public long ownBytes() {
        return core.model.weights.bytes(false) + loaded.head().weights().bytes(false);
    }

    /**
     * Computes the vector of one text.
     *
     * @param text any text
     * @return the vector of the text
     * @throws IllegalStateException if the encoder or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public SparseVector embed(String text) {
        return run(List.of(Checks.notNull(text, "text")))[0];
    }

    /**
     * Computes the vectors of texts.
     *
     * @param texts any texts
     * @return the vectors in the order of the texts
     * @throws IllegalStateException if the encoder or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public List<SparseVector> embed(List<String> texts) {
        return List.of(run(Checks.notNull(texts, "texts")));
    }

    private SparseVector[] run(List<String> texts) {
        SparseRun run = runs.take();
        try {
            return run.run(texts, maxTokens);
        } finally {
            runs.giveBack(run);
        }
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

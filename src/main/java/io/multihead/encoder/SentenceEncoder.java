package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.layer.Normalization;
import io.multihead.internal.encoder.layer.PoolingConfig;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.run.IdleRuns;
import io.multihead.internal.encoder.run.Vectors;
import io.multihead.internal.load.Loading;
import io.multihead.model.Embedder;
import io.multihead.model.Pooling;
import io.multihead.model.Transformer;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.IntConsumer;

/**
 * Sentence embeddings from a BERT model (Devlin et al. 2019; Reimers and Gurevych 2019, "Sentence-BERT"): a text's tokens pass through the
 * encoder, and their states become one vector. Static embeddings (sentence-transformers' StaticEmbedding) are the mean of the rows of a
 * table for a text's tokens, without {@code [CLS]} and {@code [SEP]}. All tokens are read, unless a file sets a maximum length.
 *
 * <p>Texts are packed into batches of about 512 tokens without padding. A vector has the same bits alone and in any batch, for any
 * number of threads and at every lane width. Empty text is the sequence of {@code [CLS]} and {@code [SEP]}, as in
 * sentence-transformers, and has a vector. Its static embedding is zero, as in sentence-transformers. A warm call of one thread allocates
 * its results and, with a prompt, the texts with the prompt.
 *
 * <p>Immutable and thread-safe; virtual threads may call it. The {@code with} methods return views that share weights and threads. {@link #close}
 * frees the weights of all views; the caller closes the {@link Compute}. An encoder that is not closed keeps its memory until the process ends. A
 * call on an interrupted thread ends before its next batch with a {@link java.util.concurrent.CancellationException}.
 */
public final class SentenceEncoder implements Embedder, AutoCloseable {
    private static final String QUERY = "query";
    private static final List<String> DOCUMENT = List.of("document", "passage", "corpus");

    /** Model, dense layers and prompts, which all views of an encoder share; {@code options} belong to this view. */
    final LoadedEncoder loaded;

    private final EncoderCore core;
    final EncoderOptions options;
    private final IdleRuns<EmbeddingRun> runs;

    private SentenceEncoder(LoadedEncoder loaded, EncoderOptions options, IdleRuns<EmbeddingRun> runs) {
        this.loaded = loaded;
        this.core = loaded.core();
        this.options = options;
        this.runs = runs;
        if (core.model.config.isStatic() && !options.pooling().equals(PoolingConfig.DEFAULT)) {
            throw Checks.fail(
                    "pooling", options.pooling().toString(), "expected the mean of all tokens for static embeddings");
        }
        core.requireLength(options.maxTokens(), core.tokenizer.specialTokenCount() + 1);
    }

    /**
     * Loads a model from a folder as sentence-transformers writes it: {@code config.json}, {@code model.safetensors} or the files that {@code
     * model.safetensors.index.json} names, which are mapped, {@code tokenizer.json} or {@code vocab.txt}, and, if they exist, {@code modules.json},
     * {@code 1_Pooling/config.json}, {@code 2_Dense} with its weights, {@code sentence_bert_config.json} and {@code
     * config_sentence_transformers.json}. A folder of static embeddings has {@code modules.json} and the StaticEmbedding module's {@code
     * model.safetensors} and {@code tokenizer.json}; the files of model2vec are supported, too. On a file system other than the default one, such as
     * inside an archive, the weights are read into native memory instead.
     *
     * <p>The path may also be a GGUF file of llama.cpp's architectures {@code bert}, {@code nomic-bert} and {@code modern-bert}, whose weights stay
     * in their format. Such a file has the pooling, but no prompts and no normalization. Vectors have length 1, as in llama.cpp, and texts have
     * no prompts. Texts may have as many tokens as the model has positions.
     *
     * <p>Settings that a file does not name have the defaults of transformers and sentence-transformers. Without {@code modules.json}, pooling is
     * the mean, vectors are not normalized, and lengths and prompts in {@code sentence_bert_config.json} and {@code
     * config_sentence_transformers.json} are ignored. Without a {@code max_seq_length}, {@code tokenizer_config.json}, or else the model's number of
     * positions, limits the tokens of a text.
     *
     * <p>The calling thread reads the weights. A second thread of {@code cpu}, if there is one, reads the tokenizer. The thread that finishes first
     * computes with a small model to load the kernels. Until both threads finish, other calls with {@code cpu} compute only on their own thread.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param path the model's folder, or a GGUF file of llama.cpp
     * @return the encoder
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException if a file is malformed, or has an unsupported model type, activation, position type, pooling, module, or
     *     weight; the message names the file and the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static SentenceEncoder load(Compute cpu, Path path) throws IOException {
        return load(cpu, path, EncoderLoadOptions.DEFAULT);
    }

    /**
     * Loads a model, with matrices and the word embedding table rounded to a format. Q8_0 takes 0.27 of the memory of f32; bf16 and f16 take half.
     * Other tables, biases and norms are not rounded.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param path the model's folder, or a GGUF file of llama.cpp
     * @param format the format of the weights
     * @return the encoder
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException as the other method does, or if the rows of a weight are not whole blocks of the format, or not all of
     *     its elements are finite; the message names the file and the weight
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static SentenceEncoder load(Compute cpu, Path path, WeightFormat format) throws IOException {
        return load(cpu, path, EncoderLoadOptions.DEFAULT.withFormat(Checks.notNull(format, "format")));
    }

    /**
     * Loads a folder or a GGUF file with options, such as low-rank adapters.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param path the model's folder, or a GGUF file of llama.cpp
     * @param options the format of weights, and adapters
     * @return the encoder
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException as the other methods do, or if the adapters have another kind or are for another model; the message
     *     names the setting
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static SentenceEncoder load(Compute cpu, Path path, EncoderLoadOptions options) throws IOException {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(path, "path");
        return of(Checks.notNull(options, "options")
                .load(
                        cpu,
                        path,
                        loading -> EncoderGguf.is(path)
                                ? EncoderGguf.load(loading, path)
                                : EncoderFolder.load(loading, path)));
    }

    /**
     * Maps an encoder that {@link #write} wrote: matrices and tables are read in place, each page at its first use, and all processes
     * that map the file share their memory. On a file system other than the default one, such as inside an archive, the file is read into
     * native memory instead. Threads are used as in {@link #load}.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param file the file, which must not be changed in place while it is mapped; {@link #write} replaces it
     * @return the encoder, with the options of the written encoder
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if the file is of another kind, or was written by a version of the library with another layout; the message
     *     names the file and the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static SentenceEncoder map(Compute cpu, Path file) throws IOException {
        Checks.notNull(cpu, "cpu");
        return of(EncoderFile.map(cpu, Checks.notNull(file, "file")));
    }

    private static SentenceEncoder of(LoadedEncoder loaded) {
        EncoderCore core = loaded.core();
        IdleRuns<EmbeddingRun> runs = new IdleRuns<>(() -> new EmbeddingRun(core, loaded.dense()));
        return core.orClose(() -> new SentenceEncoder(loaded, loaded.options(), runs));
    }

    /**
     * Loads a model from an ONNX file that PyTorch exported, as in langchain4j's model jars, and a {@code tokenizer.json}. Such files contain no
     * pooling, no prompts and no maximum length of texts. Vectors are normalized. Texts have no prompts, and may have as many tokens as the model
     * has positions. Threads are used as in {@link #load}.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param onnx the model in f32; read to its end on the calling thread, and not closed
     * @param tokenizerJson the tokenizer; read to its end on the calling thread before the model, and not closed
     * @param pooling the function from the states of tokens to one vector
     * @return the encoder
     * @throws IOException if a stream cannot be read
     * @throws IllegalArgumentException if a file is malformed, or the graph is not a BERT encoder in f32; the message names the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static SentenceEncoder ofOnnx(Compute cpu, InputStream onnx, InputStream tokenizerJson, Pooling pooling)
            throws IOException {
        return ofOnnx(cpu, onnx, tokenizerJson, pooling, WeightFormat.F32);
    }

    /**
     * Loads an ONNX model, with matrices and the word embedding table rounded to a format.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param onnx the model in f32; read to its end on the calling thread, and not closed
     * @param tokenizerJson the tokenizer; read to its end on the calling thread before the model, and not closed
     * @param pooling the function from the states of tokens to one vector
     * @param format the format of the weights
     * @return the encoder
     * @throws IOException if a stream cannot be read
     * @throws IllegalArgumentException as the other method does, or if the rows of a weight are not whole blocks of the format; the message
     *     names the weight
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static SentenceEncoder ofOnnx(
            Compute cpu, InputStream onnx, InputStream tokenizerJson, Pooling pooling, WeightFormat format)
            throws IOException {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(pooling, "pooling");
        Checks.notNull(onnx, "onnx");
        byte[] json = Checks.notNull(tokenizerJson, "tokenizerJson").readAllBytes();
        Loading loading = Loading.of(cpu, Checks.notNull(format, "format"));
        return of(EncoderOnnx.load(loading, onnx, json, pooling));
    }

    /**
     * Returns this encoder with another pooling, or with several poolings whose vectors are concatenated.
     *
     * @param pooling the pooling
     * @param more further poolings
     * @return a view that shares the weights: closing either closes both
     * @throws IllegalArgumentException if the model has a dense layer after pooling and the length of the vectors differs, or if it has
     *     static embeddings and the pooling is not the mean
     */
    public SentenceEncoder withPooling(Pooling pooling, Pooling... more) {
        List<Pooling> modes = new ArrayList<>(List.of(Checks.notNull(pooling, "pooling")));
        modes.addAll(List.of(Checks.noNulls(more, "more")));
        int length = Checks.product("pooling x hidden_size", modes.size(), core.model.config.dim());
        if (!loaded.dense().isEmpty() && length != loaded.dense().inputs()) {
            throw Checks.fail(
                    "pooling",
                    modes + " of " + length + " elements",
                    "expected the " + loaded.dense().inputs() + " of the model's dense layer");
        }
        return with(options.withPooling(List.copyOf(modes)));
    }

    /**
     * Returns this encoder with vectors of length 1, or with vectors that are not normalized. Vectors with {@link #withDimension fewer elements}
     * have length 1, too. A vector of zeros does not change.
     *
     * @param normalized whether vectors have length 1
     * @return a view that shares the weights: closing either closes both
     */
    @Override
    public SentenceEncoder withNormalization(boolean normalized) {
        return with(options.withNormalization(normalized ? Normalization.CUT : Normalization.NONE));
    }

    /**
     * Returns this encoder with only the first elements of vectors, for models that were trained for this (Kusupati et al. 2022, "Matryoshka
     * Representation Learning"). If vectors have length 1, truncated vectors have length 1, too. {@code truncate_dim} of a folder truncates after
     * its Normalize module, as in sentence-transformers, so the length of these vectors is below 1.
     *
     * @param dimension the number of elements of a vector, from 1 to the number of elements of the model's vectors
     * @return a view that shares the weights: closing either closes both
     * @throws IllegalArgumentException if the model's vectors have fewer elements
     */
    public SentenceEncoder withDimension(int dimension) {
        int whole = elements();
        if (dimension < 1 || dimension > whole) {
            throw Checks.fail("dimension", String.valueOf(dimension), "expected 1 to the model's " + whole);
        }
        EncoderOptions cut = options.withDimension(dimension);
        return with(options.normalization() == Normalization.WHOLE ? cut.withNormalization(Normalization.CUT) : cut);
    }

    /**
     * Returns this encoder for texts of another length.
     *
     * @param maxTokens the largest number of tokens of a text, or of a part of a text, including {@code [CLS]} and {@code [SEP]}; 3 to the model's
     *     positions, or any number from 1 on for static embeddings
     * @return a view that shares the weights: closing either closes both
     * @throws IllegalArgumentException if the number is outside this range
     */
    public SentenceEncoder withMaxTokens(int maxTokens) {
        return with(options.withMaxTokens(maxTokens));
    }

    /**
     * Returns this encoder with another treatment of texts of more tokens than {@link #maxTokens}.
     *
     * @param longTexts the treatment
     * @return a view that shares the weights: closing either closes both
     */
    public SentenceEncoder withLongTexts(LongTexts longTexts) {
        return with(options.withLongTexts(longTexts));
    }

    /**
     * Returns this encoder with a prompt before each text, such as {@code "query: "}.
     *
     * @param prompt the text; empty for none
     * @return a view that shares the weights: closing either closes both
     */
    @Override
    public SentenceEncoder withPrompt(String prompt) {
        return with(options.withPrompt(prompt));
    }

    /**
     * {@return this encoder with the model's prompt for queries; a view that shares the weights: closing either closes both}. Without such a prompt,
     * the model's default prompt is used, if there is one.
     */
    @Override
    public SentenceEncoder forQueries() {
        return withPrompt(prompts().getOrDefault(QUERY, loaded.defaultPrompt()));
    }

    /**
     * {@return this encoder with the model's prompt for documents, named {@code document}, {@code passage} or {@code corpus}; a view that shares the
     * weights: closing either closes both}. Without such a prompt, the model's default prompt is used, if there is one.
     */
    @Override
    public SentenceEncoder forDocuments() {
        return withPrompt(DOCUMENT.stream()
                .filter(prompts()::containsKey)
                .findFirst()
                .map(prompts()::get)
                .orElse(loaded.defaultPrompt()));
    }

    private SentenceEncoder with(EncoderOptions changed) {
        return new SentenceEncoder(loaded, changed, runs);
    }

    @Override
    public int dimension() {
        return Math.min(options.dimension(), elements());
    }

    /** Returns the number of elements of a vector before truncation. */
    private int elements() {
        DenseLayers dense = loaded.dense();
        return dense.isEmpty() ? options.pooling().modes().size() * core.model.config.dim() : dense.outputs();
    }

    /**
     * Returns the largest number of tokens that are read of a text, including {@code [CLS]} and
     * {@code [SEP]}.
     *
     * @return at least 3; {@link Integer#MAX_VALUE} without a limit
     */
    @Override
    public int maxTokens() {
        return options.maxTokens();
    }

    /**
     * {@return the parts of the model, without pooling, for studies; a table without blocks for static embeddings}. The parts share the weights of
     * this encoder, and cannot be used after the encoder was closed.
     */
    public Transformer transformer() {
        return core.model.transformer;
    }

    /** {@return the tokenizer, which also counts tokens} */
    public EncoderTokenizer tokenizer() {
        return core.tokenizer;
    }

    @Override
    public Map<String, String> prompts() {
        return loaded.prompts();
    }

    /**
     * {@return the number of bytes of weights that only this process uses: packed matrices in native memory, unless they are mapped, tables of a
     * model from an ONNX file, and biases on the Java heap; a constant number}
     */
    public long ownBytes() {
        return core.model.weights.bytes(false) + loaded.dense().bytes(false);
    }

    /**
     * {@return the number of bytes of weights that are read from a mapped file, whose memory all processes share; 0 for an ONNX file or an archive}
     */
    public long mappedBytes() {
        return core.model.weights.bytes(true) + loaded.dense().bytes(true);
    }

    /**
     * Computes the vector of one text.
     *
     * @param text any text
     * @return a new vector of {@link #dimension} elements
     * @throws IllegalArgumentException if the text is too long and {@link LongTexts#FAIL} is set
     * @throws IllegalStateException if the encoder or its Compute is closed
     */
    @Override
    public float[] embed(String text) {
        return embed(List.of(Checks.notNull(text, "text")))[0];
    }

    /**
     * Computes the vectors of texts.
     *
     * @param texts any texts
     * @return a new vector for each text, in their order
     * @throws IllegalArgumentException if a text is too long and {@link LongTexts#FAIL} is set
     * @throws IllegalStateException if the encoder or its Compute is closed
     */
    @Override
    public float[][] embed(List<String> texts) {
        return embed(texts, done -> {});
    }

    /**
     * Computes the vectors of texts, and reports progress.
     *
     * @param texts any texts
     * @param progress receives, after each batch, the number of embedded texts; an exception that it throws ends the
     *     call
     * @return a new vector for each text, in their order
     * @throws IllegalArgumentException if a text is too long and {@link LongTexts#FAIL} is set
     * @throws IllegalStateException if the encoder or its Compute is closed
     */
    public float[][] embed(List<String> texts, IntConsumer progress) {
        Checks.notNull(progress, "progress");
        return embedAll(Checks.notNull(texts, "texts"), progress);
    }

    private float[][] embedAll(List<?> texts, IntConsumer progress) {
        EmbeddingRun run = runs.take();
        try {
            run.begin(options, texts);
            Vectors vectors = run.vectors();
            while (run.step(vectors)) {
                progress.accept(vectors.count());
            }
            return vectors.toArray();
        } finally {
            runs.giveBack(run);
        }
    }

    /**
     * Computes the vectors of tokenized texts, which have the same bits as the vectors of {@link #embed(List)}. No prompt is put before the tokens.
     * Sequences that are too long are treated like texts that are too long.
     *
     * @param ids the ids of each text, as {@link EncoderTokenizer#encode(String)} returns them, {@link EncoderTokenizer#firstToken} and {@link
     *     EncoderTokenizer#lastToken} included; read during the call only
     * @return a new vector for each text, in their order
     * @throws IllegalArgumentException if ids do not begin and end with these tokens or are outside the vocabulary, or a sequence is too
     *     long and {@link LongTexts#FAIL} is set
     * @throws IllegalStateException if the encoder or its Compute is closed
     */
    public float[][] embedTokens(List<int[]> ids) {
        return embedAll(Checks.notNull(ids, "ids"), done -> {});
    }

    /**
     * Computes vectors one batch ahead of their use, for engines that supply texts one by one. One thread at a time may use the iterator. After an
     * error, including an error of {@code texts}, the texts that were already read are lost, and the next calls fail with {@link
     * IllegalStateException}.
     *
     * @param texts any texts; they are read one batch at a time
     * @return the embeddings of the texts, in their order
     */
    public Iterator<TextEmbedding> embed(Iterator<String> texts) {
        Checks.notNull(texts, "texts");
        // a run that is not reused, because the end of an iterator's use cannot be detected
        EmbeddingRun run = runs.newRun();
        run.begin(options, texts);
        return new EmbeddingIterator(run);
    }

    /**
     * Computes the attention weights of every head for one text, as in {@link #embed(String)}, for studies of heads. Memory is quadratic in the
     * number of tokens: 288 bytes for each pair of tokens with the 72 heads of MiniLM.
     *
     * @param text any text; the prompt is put before it
     * @return tokens and weights
     * @throws IllegalArgumentException if the text is too long and {@link LongTexts#TRUNCATE} is not set: the parts of a divided text
     *     do not attend to each other
     * @throws IllegalStateException if the encoder or its Compute is closed, or the model has no heads, like static embeddings
     */
    public TextAttention attention(String text) {
        if (core.model.config.isStatic()) {
            throw new IllegalStateException("encoder: static embeddings; expected a model with heads");
        }
        return TextAttention.of(core, options, Checks.notNull(text, "text"));
    }

    /**
     * Writes this encoder to one file that {@link #map} maps: packed weights, tables, tokenizer, options and prompts. It writes a temporary
     * file in the same folder, which then atomically replaces {@code file}, so a crash leaves either the old file or the new one.
     *
     * <p>The file is the same for all processors and vector widths of little-endian machines. A later version of the library may use another layout
     * and refuse the file, which must then be written again from the model.
     *
     * @param file the file to write; its size is the size of the matrices in f32, of the tables in their type, and of the tokenizer
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException if the path has no file name, a prompt or a token has an unpaired surrogate, or the tokenizer is not
     *     WordPiece, and its folder has no {@code tokenizer.json}
     * @throws IllegalStateException if the encoder is closed before or during the call
     */
    public void write(Path file) throws IOException {
        Checks.notNull(file, "file");
        core.requireOpen();
        EncoderFile.write(file, loaded, options);
    }

    /**
     * Frees the memory of the weights at once, mapped and packed. Later calls fail with {@link IllegalStateException}. Running calls may fail with
     * this exception, too. A second call has no effect.
     */
    @Override
    public void close() {
        core.close();
    }
}

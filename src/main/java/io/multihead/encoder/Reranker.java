package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.load.BertOnnx;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.ModelLoader;
import io.multihead.internal.encoder.load.TokenizerFiles;
import io.multihead.internal.encoder.run.IdleRuns;
import io.multihead.internal.encoder.run.PairFormat;
import io.multihead.internal.encoder.run.RerankRun;
import io.multihead.internal.encoder.run.Vectors;
import io.multihead.internal.load.Loading;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/**
 * Scores of passages for a query, from a cross-encoder (Nogueira and Cho 2019, "Passage Re-ranking with BERT"): query and passage pass
 * through a BERT model as one sequence, {@code [CLS] query [SEP] passage [SEP]}, and its head computes a score from the first token's
 * state. Scores equal the scores of sentence-transformers' {@code CrossEncoder}. A pair with too many tokens is truncated at the end of the
 * longer text, like {@code longest_first} of HuggingFace's tokenizers.
 *
 * <p>Pairs are packed into batches of about 512 tokens without padding. A score has the same bits alone and in any batch, for any number of
 * threads and at every lane width. A warm call of one thread allocates its results.
 *
 * <p>Immutable and thread-safe; virtual threads may call it. The {@code with} methods return views that share weights and threads. {@link
 * #close} frees the weights of all views; the caller closes the {@link Compute}. A reranker that is not closed keeps its memory until the
 * process ends.
 */
public final class Reranker implements AutoCloseable {
    private final RerankerFolder.Loaded loaded;
    private final EncoderCore core;
    private final PairFormat format;
    private final IdleRuns<RerankRun> runs;

    private Reranker(RerankerFolder.Loaded loaded, PairFormat format, IdleRuns<RerankRun> runs) {
        this.loaded = loaded;
        this.core = loaded.core();
        this.format = format;
        this.runs = runs;
        core.requireLength(loaded.maxTokens(), format.added());
    }

    /**
     * Loads a model from a folder of transformers or sentence-transformers: {@code config.json}, {@code model.safetensors} or the files that {@code
     * model.safetensors.index.json} names, which are mapped, {@code tokenizer.json} or {@code vocab.txt}, and, if they exist, {@code
     * tokenizer_config.json}, {@code modules.json}, {@code sentence_bert_config.json} and {@code config_sentence_transformers.json}. On a file system
     * other than the default one, such as inside an archive, the weights are read into native memory instead.
     *
     * <p>The path may also be a GGUF file of llama.cpp's architectures {@code bert} and {@code modern-bert} with the head of a cross-encoder.
     * Like an ONNX file, it contains no output activation and no lengths.
     *
     * <p>The activation of outputs is read from {@code config_sentence_transformers.json} if there is a {@code modules.json}, or else from
     * {@code config.json}. There it is {@code activation_fn} of {@code sentence_transformers} or, in older folders, {@code
     * sbert_ce_default_activation_function}. The default is {@link ScoreActivation#SIGMOID} for a single label and the identity for several
     * labels. {@code tokenizer_config.json}, or else the model's number of positions, limits the tokens of a pair. Threads are used as in
     * {@link SentenceEncoder#load}.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param path the model's folder, or a GGUF file of llama.cpp
     * @return the reranker
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException if a file is malformed, or has an unsupported model type, activation, module, or weight; the message names the
     *     file and the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static Reranker load(Compute cpu, Path path) throws IOException {
        return load(cpu, path, EncoderLoadOptions.DEFAULT);
    }

    /**
     * Loads a model, with matrices and the word embedding table rounded to a format. Q8_0 takes 0.27 of the memory of f32; bf16 and f16
     * take half. Other tables, biases and norms are not rounded.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param path the model's folder, or a GGUF file of llama.cpp
     * @param format the format of the weights
     * @return the reranker
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException as the other method does, or if the rows of a weight are not whole blocks of the format, or an
     *     element is not finite; the message names the file and the weight
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static Reranker load(Compute cpu, Path path, WeightFormat format) throws IOException {
        return load(cpu, path, EncoderLoadOptions.DEFAULT.withFormat(Checks.notNull(format, "format")));
    }

    /**
     * Loads a model with options, such as low-rank adapters.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param path the model's folder, or a GGUF file of llama.cpp
     * @param options the format of weights, and adapters
     * @return the reranker
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException as the other methods do, or if the adapters have another kind or are for another model; the message
     *     names the setting
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static Reranker load(Compute cpu, Path path, EncoderLoadOptions options) throws IOException {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(path, "path");
        RerankerFolder.Loaded loaded = Checks.notNull(options, "options")
                .load(
                        cpu,
                        path,
                        loading -> EncoderGguf.is(path)
                                ? EncoderGguf.loadReranker(loading, path)
                                : RerankerFolder.load(loading, path));
        return loaded.core().orClose(() -> Checks.in(path, () -> of(loaded)));
    }

    /**
     * Loads a model from an ONNX file that PyTorch exported, and a {@code tokenizer.json}. Such files have no activation of outputs: the
     * default of sentence-transformers applies, unless {@link #withActivation} sets another function. Such files also contain no lengths: pairs
     * may have as many tokens as the model has positions. Threads are used as in {@link SentenceEncoder#load}.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param onnx the model in f32; read to its end on the calling thread, and not closed
     * @param tokenizerJson the tokenizer; read to its end on the calling thread before the model, and not closed
     * @return the reranker
     * @throws IOException if a stream cannot be read
     * @throws IllegalArgumentException if a file is malformed, or the graph is not a BERT model in f32 that classifies sequences; the message names
     *     the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static Reranker ofOnnx(Compute cpu, InputStream onnx, InputStream tokenizerJson) throws IOException {
        return ofOnnx(cpu, onnx, tokenizerJson, WeightFormat.F32);
    }

    /**
     * Loads an ONNX model, with matrices and the word embedding table rounded to a format.
     *
     * @param cpu threads of this and every later call; the caller owns it
     * @param onnx the model in f32; read to its end on the calling thread, and not closed
     * @param tokenizerJson the tokenizer; read to its end on the calling thread before the model, and not closed
     * @param format the format of the weights
     * @return the reranker
     * @throws IOException if a stream cannot be read
     * @throws IllegalArgumentException as the other method does, or if the rows of a weight are not whole blocks of the format; the
     *     message names the weight
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static Reranker ofOnnx(Compute cpu, InputStream onnx, InputStream tokenizerJson, WeightFormat format)
            throws IOException {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(onnx, "onnx");
        byte[] json = Checks.notNull(tokenizerJson, "tokenizerJson").readAllBytes();
        Loading loading = Loading.of(cpu, Checks.notNull(format, "format"));
        EncoderCore core = ModelLoader.load(
                loading, () -> BertOnnx.loadClassifier(loading, onnx), () -> Tokenizers.ofEncoderJson(json));
        return core.orClose(() -> {
            RerankerConfig.requireTwoTypes(core.model.config);
            int labels = core.model.head().labels();
            return of(new RerankerFolder.Loaded(
                    core, RerankerConfig.byDefault(labels), core.model.config.positions(), TokenizerFiles.NONE));
        });
    }

    private static Reranker of(RerankerFolder.Loaded loaded) {
        EncoderCore core = loaded.core();
        PairFormat format = PairFormat.of(core.tokenizer, core.model.config.types());
        return new Reranker(loaded, format, new IdleRuns<>(() -> new RerankRun(core, format)));
    }

    /**
     * Maps a reranker that {@link #write} wrote: matrices and tables are read in place, and all processes that map the file share their memory.
     *
     * @param cpu threads of every call; the caller owns it
     * @param file the file, which must not be changed in place while it is mapped; {@link #write} replaces it
     * @return the reranker, which has the activation and the length of the written reranker, and returns the same bits
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if the file is of another kind, or was written by a version of the library with another layout; the
     *     message names the file and the value
     * @throws IllegalStateException if {@code cpu} is closed
     */
    public static Reranker map(Compute cpu, Path file) throws IOException {
        Loading loading = Loading.of(Checks.notNull(cpu, "cpu"));
        RerankerFolder.Loaded loaded = RerankerFolder.map(loading, Checks.notNull(file, "file"));
        return loaded.core().orClose(() -> Checks.in(file, () -> of(loaded)));
    }

    /**
     * Writes this reranker to one file that {@link #map} maps, as {@link SentenceEncoder#write} does: packed weights, tokenizer, activation and
     * length. The complete file atomically replaces an older file; after an error, the older file is unchanged.
     *
     * @param file the file to write
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException if the path has no file name, or the tokenizer is not WordPiece, and its folder has no {@code
     *     tokenizer.json}
     * @throws IllegalStateException if the reranker is closed before or during the call
     */
    public void write(Path file) throws IOException {
        Checks.notNull(file, "file");
        core.requireOpen();
        RerankerFolder.write(file, loaded);
    }

    /**
     * Returns this reranker with another function of the model's outputs.
     *
     * @param newActivation the function
     * @return a view that shares the weights: closing either closes both
     */
    public Reranker withActivation(ScoreActivation newActivation) {
        return with(newActivation, loaded.maxTokens());
    }

    /**
     * Returns this reranker for pairs of another length.
     *
     * @param newMaxTokens the largest number of tokens of a pair, including {@code [CLS]} and all {@code [SEP]}: 3 to the model's positions,
     *     and at least 4 for RoBERTa, whose pairs have three {@code [SEP]}
     * @return a view that shares the weights: closing either closes both
     * @throws IllegalArgumentException if the number is outside this range
     */
    public Reranker withMaxTokens(int newMaxTokens) {
        return with(loaded.activation(), newMaxTokens);
    }

    private Reranker with(ScoreActivation activation, int maxTokens) {
        return new Reranker(
                new RerankerFolder.Loaded(core, activation, maxTokens, loaded.tokenizerFiles()), format, runs);
    }

    /** {@return the activation of the model's outputs} */
    public ScoreActivation activation() {
        return loaded.activation();
    }

    /** {@return the largest number of tokens of a pair, including {@code [CLS]} and all {@code [SEP]}; at
     * least 3} */
    public int maxTokens() {
        return loaded.maxTokens();
    }

    /** {@return the number of outputs for a pair; 1 for a model that scores} */
    public int labels() {
        return core.model.head().labels();
    }

    /** {@return the tokenizer, which also counts tokens} */
    public EncoderTokenizer tokenizer() {
        return core.tokenizer;
    }

    /**
     * {@return the number of bytes of weights that only this process uses: packed matrices and tables of a model from an ONNX file in native
     * memory, and biases on the Java heap; a constant number}
     */
    public long ownBytes() {
        return core.model.weights.bytes(false);
    }

    /**
     * Returns the number of bytes of weights that are read from a mapped file, whose memory all processes share.
     *
     * @return a constant number of bytes; 0 for a model from an ONNX file or an archive
     */
    public long mappedBytes() {
        return core.model.weights.bytes(true);
    }

    /**
     * Computes the score of one passage.
     *
     * @param query any text
     * @param passage any text
     * @return the score
     * @throws IllegalStateException if the model has several labels, or the reranker or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public double score(String query, String passage) {
        return score(query, List.of(Checks.notNull(passage, "passage")))[0];
    }

    /**
     * Computes the scores of passages.
     *
     * @param query any text
     * @param passages any texts
     * @return a new array with a score for each passage, in their order
     * @throws IllegalStateException if the model has several labels, or the reranker or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public double[] score(String query, List<String> passages) {
        return score(query, passages, done -> {});
    }

    /**
     * Computes the scores of passages, and reports progress.
     *
     * @param query any text
     * @param passages any texts
     * @param progress receives, after each batch, the number of scored passages; an exception that it throws ends the
     *     call
     * @return a new array with a score for each passage, in their order
     * @throws IllegalStateException if the model has several labels, or the reranker or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public double[] score(String query, List<String> passages, IntConsumer progress) {
        if (labels() != 1) {
            throw new IllegalStateException("model: " + labels() + " labels; expected 1, or a call of labelScores");
        }
        return outputs(query, passages, progress);
    }

    /**
     * Computes the outputs for all labels of pairs, for example of a model for natural language inference.
     *
     * @param query any text
     * @param passages any texts
     * @return a new array for each passage, in their order, with an output for each label
     * @throws IllegalStateException if the reranker or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public double[][] labelScores(String query, List<String> passages) {
        double[] all = outputs(query, passages, done -> {});
        double[][] byPassage = new double[all.length / labels()][];
        Arrays.setAll(byPassage, i -> Arrays.copyOfRange(all, i * labels(), (i + 1) * labels()));
        return byPassage;
    }

    private double[] outputs(String query, List<String> passages, IntConsumer progress) {
        Checks.notNull(query, "query");
        Checks.notNull(passages, "passages");
        Checks.notNull(progress, "progress");
        double[] outputs = new double[Checks.product("passages x labels", passages.size(), labels())];
        RerankRun run = runs.take();
        try {
            run.run(query, passages, loaded.maxTokens(), outputs, progress);
        } finally {
            runs.giveBack(run);
        }
        for (int i = 0; i < outputs.length; i++) {
            Vectors.requireFinite(outputs[i], "passage", i / labels());
            outputs[i] = loaded.activation().of(outputs[i]);
        }
        return outputs;
    }

    /**
     * Orders passages by their scores, the highest first. Passages of equal scores keep the order of the list.
     *
     * @param query any text
     * @param passages any texts
     * @return a new list of all passages
     * @throws IllegalStateException if the model has several labels, or the reranker or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public List<RankedPassage> rank(String query, List<String> passages) {
        return rank(query, passages, Integer.MAX_VALUE);
    }

    /**
     * Finds the passages with the highest scores.
     *
     * @param query any text
     * @param passages any texts, all of which are scored
     * @param topN the number of passages to return, at least 1
     * @return a new list of {@code topN} passages, or of all passages if there are fewer, the highest score
     *     first
     * @throws IllegalStateException if the model has several labels, or the reranker or its Compute is closed
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     */
    public List<RankedPassage> rank(String query, List<String> passages, int topN) {
        Checks.atLeast(topN, 1, "topN");
        double[] scores = score(query, passages);
        return IntStream.range(0, scores.length)
                .mapToObj(i -> new RankedPassage(i, scores[i]))
                .sorted(Comparator.comparingDouble(RankedPassage::score).reversed())
                .limit(topN)
                .toList();
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

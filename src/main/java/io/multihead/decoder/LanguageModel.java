package io.multihead.decoder;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.SequenceCache;
import io.multihead.compute.Compute;
import io.multihead.grammar.TokenVocabulary;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.load.Loading;
import io.multihead.model.Transformer;
import io.multihead.text.Tokenizer;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A trained language model, which continues texts.
 *
 * <pre>{@code
 * try (Compute cpu = Compute.threads(2);
 *         LanguageModel model = LanguageModel.load(cpu, Path.of("model.gguf"));
 *         Sessions sessions = model.sessions(SessionOptions.DEFAULT);
 *         Session session = sessions.open()) {
 *     session.append("Once upon a time").generate(GenerationOptions.DEFAULT, token -> {
 *         System.out.print(token.text());
 *         return true;
 *     });
 * }
 * }</pre>
 *
 * <p>Weights keep the format that they have in the file, and are packed once; activations are f32. The tokens of a text do not depend on
 * the batch, on the number of threads, on the division of the prefill into steps, or on the lane width. Immutable and thread-safe. {@link
 * #close} frees the weights; close the sessions first. The caller owns the {@link Compute}.
 */
public final class LanguageModel implements AutoCloseable {
    private static final String EXPECTED =
            "a GGUF file, or a folder with config.json, a tokenizer and model.safetensors";
    /** The number of pages that a session may hold beyond its context, because a cache that slides frees four pages at a time. */
    private static final int SPARE_PAGES = 5;

    private final Compute cpu;
    private final LoadedDecoder loaded;
    private final Optional<ChatTemplate> template;
    private @Nullable TokenVocabulary tokens;

    LanguageModel(Compute cpu, LoadedDecoder loaded) {
        this(cpu, loaded, Optional.empty());
    }

    private LanguageModel(Compute cpu, LoadedDecoder loaded, Optional<ChatTemplate> template) {
        this.cpu = cpu;
        this.loaded = loaded;
        this.template = template;
    }

    /**
     * Loads a model.
     *
     * @param cpu the threads of this and every later call; the caller owns this object
     * @param path a GGUF file, or the first part of a split GGUF file; or a Hugging Face folder: {@code config.json}, tokenizer, and {@code
     *     model.safetensors} or its parts
     * @return the model
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException if a file is malformed, or has an unsupported architecture, activation, scaling of positions, type
     *     of weights, or tensor; the message names the file and the value
     */
    public static LanguageModel load(Compute cpu, Path path) throws IOException {
        return load(cpu, path, LoadOptions.DEFAULT);
    }

    /**
     * Loads a model with options.
     *
     * @param cpu the threads of this and every later call; the caller owns this object
     * @param path a GGUF file, or the first part of a split GGUF file; or a Hugging Face folder: {@code config.json}, tokenizer, and {@code
     *     model.safetensors} or its parts
     * @param options the options of loading
     * @return the model
     * @throws IOException if a file is missing or cannot be read
     * @throws IllegalArgumentException if a file is malformed or has an unsupported setting, and the message names the file and the value;
     *     or if inputs in 8 bits are requested and the model has no weights of 4 bits
     */
    public static LanguageModel load(Compute cpu, Path path, LoadOptions options) throws IOException {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(path, "path");
        Checks.notNull(options, "options");
        Loading loading = Loading.of(cpu, null, options.adapter()).withEightBitInputs(options.eightBitInputs());
        try {
            Checks.exists(path, EXPECTED);
            LoadedDecoder loaded = Downloads.withCommand(
                    path,
                    () -> Files.isDirectory(path)
                            ? DecoderLoader.folder(loading, path, options.listener(), EXPECTED)
                            : DecoderLoader.gguf(loading, path, options.listener()));
            return new LanguageModel(cpu, loaded);
        } catch (Throwable failed) {
            loading.close();
            throw failed;
        }
    }

    /**
     * Maps a model that {@link #write} wrote. Nothing is packed. Each page is read at its first use, and all processes that map the file
     * share its memory. On a file system other than the default one, such as inside an archive, the file is read into native memory
     * instead.
     *
     * @param cpu the threads of every call; the caller owns this object
     * @param file the file, which must not be changed in place while it is mapped; {@link #write} replaces it
     * @return a model whose results and sessions have the same bits as the results and sessions of the written model
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if {@link #write} did not write the file, or a version of the library with another layout wrote it;
     *     the message names the file and the value
     */
    public static LanguageModel map(Compute cpu, Path file) throws IOException {
        Loading loading = Loading.of(Checks.notNull(cpu, "cpu"));
        try {
            return new LanguageModel(cpu, PackedDecoder.map(loading, Checks.notNull(file, "file")));
        } catch (Throwable failed) {
            loading.close();
            throw failed;
        }
    }

    /**
     * Writes this model to one file that {@link #map} maps: packed weights, tokenizer, templates and settings. A template of {@link
     * #withChatTemplate} is not written. The complete file atomically replaces an older file; after an error, the older file is
     * unchanged.
     *
     * <p>The file is the same for all processors and vector widths of little-endian machines. A later version of the library may use
     * another layout and refuse the file. In this case, write the file again from the model.
     *
     * @param file the file to write; it has about the size of the model's files
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException if the path has no file name
     * @throws IllegalStateException if the model is made of parts, or is closed before or during the
     *     call
     */
    public void write(Path file) throws IOException {
        write(file, LoadListener.NONE);
    }

    /**
     * Writes this model, and reports the progress.
     *
     * @param file the file to write
     * @param listener receives the numbers of written tensors and of all tensors
     * @throws IOException if the file cannot be written
     * @throws IllegalArgumentException if the path has no file name
     * @throws IllegalStateException if the model is made of parts, or is closed before or during the
     *     call
     */
    public void write(Path file, LoadListener listener) throws IOException {
        Checks.notNull(file, "file");
        Checks.notNull(listener, "listener");
        requireOpen();
        PackedDecoder.write(file, loaded, listener);
    }

    private void requireOpen() {
        if (!loaded.loading().arena().scope().isAlive()) {
            throw new IllegalStateException("model: closed; expected an open one");
        }
    }

    /**
     * Returns a model made of parts of the program, which may be the program's own implementations. The model has sessions, batches, chats
     * and embeddings like a model from a file. Its sessions cannot be saved, because no file identifies the model.
     *
     * @param cpu the threads of every call; the caller owns this object
     * @param model the stack; the caller owns its weights, which must stay open as long as this model is open
     * @param tokenizer the tokenizer, whose tokens are rows of the embeddings
     * @param contextTokens the largest number of tokens of a text in training
     * @return the model; {@link #withChatTemplate} adds a chat template
     * @throws IllegalArgumentException if the tokenizer has more tokens than the embeddings have rows, or the stack has fewer positions
     *     than {@code contextTokens}
     */
    public static LanguageModel of(Compute cpu, Transformer model, Tokenizer tokenizer, int contextTokens) {
        Checks.notNull(cpu, "cpu");
        DecoderLoader.requireRows(Checks.notNull(model, "model"), Checks.notNull(tokenizer, "tokenizer"));
        if (contextTokens < 1 || contextTokens > model.positions()) {
            throw Checks.fail(
                    "contextTokens",
                    String.valueOf(contextTokens),
                    "expected 1 to the model's " + model.positions() + " positions");
        }
        return new LanguageModel(cpu, LoadedDecoder.ofOwn(model, tokenizer, contextTokens, Loading.of(cpu)));
    }

    /**
     * Returns this model with another chat template.
     *
     * @param chosen the template
     * @return a model that shares the weights; closing one of the two models closes both
     */
    public LanguageModel withChatTemplate(ChatTemplate chosen) {
        return new LanguageModel(cpu, loaded, Optional.of(Checks.notNull(chosen, "chosen")));
    }

    /**
     * Allocates the memory of sessions.
     *
     * @param options the memory that the sessions may keep
     * @return the sessions
     * @throws IllegalArgumentException if a session would have more tokens than the model has positions, or all sessions together would
     *     have more tokens than a cache can count
     * @throws IllegalStateException if the model is closed, is an embedding model, whose files have no output head, or is a reranker, whose
     *     head scores only yes and no
     */
    public Sessions sessions(SessionOptions options) {
        if (loaded.embedder().ranks()) {
            throw new IllegalStateException(
                    "model: an output head for yes and no in its file; expected an output head for tokens");
        }
        return sessions(options, Generations.CHUNK_TOKENS);
    }

    Sessions sessions(SessionOptions options, int chunkTokens) {
        Checks.notNull(options, "options");
        requireOpen();
        if (!loaded.hasHead()) {
            throw new IllegalStateException(
                    "model: no output head in its files; expected an output head, which only embeddings do not need");
        }
        int tokens = options.contextTokens() == 0 ? contextTokens() : options.contextTokens();
        if (tokens > contextTokens()) {
            throw Checks.fail(
                    "contextTokens", String.valueOf(tokens), "expected at most the model's " + contextTokens());
        }
        Transformer fitting = loaded.model(tokens);
        Arena arena = Arena.ofShared();
        try {
            SequenceCache cache = cache(fitting, tokens, options, arena);
            SessionCache shared = new SessionCache(
                    cpu,
                    cache,
                    new StepRunner(cpu, fitting, cache, SessionCache.BATCH_TOKENS),
                    new SamplerPool(vocabularySize(), options.cacheFormat()),
                    new SessionCache.Limits(options.sessions(), tokens, options.maxWait(), options.keepsPrefixes()),
                    new SessionCache.Lives(loaded.loading().arena().scope()::isAlive, arena::close));
            CallGrammars calls = new CallGrammars(this::chatTemplate);
            Prompts prompts =
                    new Prompts(tokenizer(), this::chatTemplate, vocabularySize(), this::tokenVocabulary, calls);
            PrefixFile files = new PrefixFile(
                    loaded.identity(), ContextRopes.name(loaded.facts().layers(), tokens));
            return new Sessions(shared, files, prompts, chunkTokens);
        } catch (Throwable failed) {
            arena.close();
            throw failed;
        }
    }

    /**
     * {@return the tokens of {@link #tokenizer}, in the form that constraints need}. The first call creates the object, and later calls
     * return it again.
     */
    public synchronized TokenVocabulary tokenVocabulary() {
        TokenVocabulary made = tokens;
        if (made == null) {
            made = new TokenVocabulary(tokenizer());
            tokens = made;
        }
        return made;
    }

    private static SequenceCache cache(Transformer model, int tokens, SessionOptions options, Arena arena) {
        long pages = Math.ceilDiv(tokens, SessionCache.PAGE) + SPARE_PAGES;
        try {
            long all = Math.multiplyExact(Math.multiplyExact(pages, SessionCache.PAGE), (long) options.sessions());
            return model.cache(arena, options.cacheFormat(), all);
        } catch (ArithmeticException | IllegalArgumentException tooLarge) {
            String all = options.sessions() + " of " + tokens + " tokens";
            throw new IllegalArgumentException(
                    "sessions: " + all + "; expected fewer or shorter ones, whose pages a cache can count", tooLarge);
        }
    }

    /**
     * Returns an embedder of texts with the settings of the model's file. If the file has no such settings, a vector is the state of the
     * last token, normalized to length 1.
     *
     * @return the embedder, which is valid until this model is closed
     * @throws IllegalStateException if the model has no vectors of texts ({@code pooling_type} 0, or 4 for
     *     a reranker)
     */
    public TextEmbedder embedder() {
        if (loaded.embedder().pooling() == null) {
            throw new IllegalStateException(
                    "model: pooling_type " + (loaded.embedder().ranks() ? "4 (rank)" : "0")
                            + " in its file, no vectors of texts; expected 1 (mean), 2 (cls) or 3 (last)");
        }
        return new TextEmbedder(cpu, loaded.states(), tokenizer(), contextTokens(), loaded.embedder());
    }

    /**
     * Returns a reranker of passages, for models that were trained like Qwen3-Reranker. The scores of other models have no meaning. A GGUF file
     * may have a head for only yes and no ({@code cls.output.weight}), as the converter of llama.cpp writes it.
     *
     * @param options the memory that the prompts may keep; {@link SessionOptions#contextTokens} limits each prompt
     * @return the reranker; close it before this model
     * @throws IllegalArgumentException if the tokenizer has no tokens {@code yes} and {@code no}, or no tokens that begin and end messages,
     *     or as {@link #sessions} throws it
     * @throws IllegalStateException if the model is closed, or is an embedding model, whose files have no output head
     */
    public TextReranker reranker(SessionOptions options) {
        TextReranker.requireTokens(tokenizer());
        Sessions sessions = sessions(options, Generations.CHUNK_TOKENS);
        return TextReranker.of(
                sessions, tokenizer(), options.sessions(), loaded.embedder().ranks());
    }

    /**
     * {@return the template of chats: the template that {@link #withChatTemplate} set, or else the template of the file}. If a file has
     * several named templates, chats have the template named {@code default}, and chats with tools have the template named {@code
     * tool_use}.
     *
     * @throws IllegalArgumentException if the file has no template, several templates without a default, or a template with an unsupported
     *     construct. Such a model accepts prompts as tokens: {@code session.append(tokenizer().encode(PromptText.template(prompt)))}
     */
    public ChatTemplate chatTemplate() {
        return template.orElseGet(() -> loaded.templates().template().withTokensOf(tokenizer()));
    }

    /** {@return the tokenizer} */
    public Tokenizer tokenizer() {
        return loaded.tokenizer();
    }

    /**
     * Returns the stack of the model. {@link #of} makes another model from the parts of the stack, for example without some heads.
     *
     * @return the stack, whose weights this model frees when it is closed; its rotary positions fit contexts of {@link #contextTokens}
     *     tokens
     */
    public Transformer transformer() {
        return loaded.model();
    }

    /**
     * {@return the number of tokens that the model may choose: the tokens of the tokenizer}. The tables of the model may have more rows.
     */
    public int vocabularySize() {
        return loaded.vocabularySize();
    }

    /** {@return the largest number of tokens of a text in the model's training} */
    public int contextTokens() {
        return loaded.facts().context();
    }

    /**
     * Returns the bytes that one token of a session takes.
     *
     * @param format the format of keys and values
     * @return the bytes of keys and values in all layers
     */
    public long bytesPerToken(CacheFormat format) {
        return loaded.model().bytesPerToken(format);
    }

    /** {@return the bytes of weights that only this process uses; 0 for a model made of parts} */
    public long ownBytes() {
        return loaded.facts().ownBytes();
    }

    /**
     * {@return the bytes of weights that are read from a mapped file, whose memory all processes share: tables, and the matrices of a packed file}
     */
    public long mappedBytes() {
        return loaded.facts().mappedBytes();
    }

    /** {@return the name of the model, its family and its sizes} */
    @Override
    public String toString() {
        return loaded.facts().description();
    }

    /** Frees the weights. Close all sessions first. */
    @Override
    public void close() {
        loaded.loading().close(); // models with other templates share these weights
    }
}

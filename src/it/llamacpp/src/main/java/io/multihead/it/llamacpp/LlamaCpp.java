package io.multihead.it.llamacpp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A model in llama.cpp with one sequence: load, tokenize, decode. The class depends only on the JDK and the libraries
 * of one build. For one thread only.
 *
 * <p>Structures of parameters are never described, since their members change from build to build. In the System V ABI,
 * a function that returns a structure of more than 16 bytes writes it to memory at a given address. A function that has
 * such a structure as its last argument reads it from the stack, where additional bytes have no effect. Only the first
 * three members of {@code llama_context_params} are used, and checked.
 */
public final class LlamaCpp implements AutoCloseable {
    /** A size that is larger than any structure of parameters. */
    private static final StructLayout PARAMETERS =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(64, ValueLayout.JAVA_LONG));

    /** {@code llama_batch}: n_tokens, token, embd, pos, n_seq_id, seq_id, logits. */
    private static final StructLayout BATCH =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(7, ValueLayout.JAVA_LONG));

    private final Native library;
    private final MemorySegment model;
    private final MemorySegment context;
    private final MemorySegment vocabulary;
    private final int vocabularySize;
    private final MethodHandle decode;
    private final MethodHandle logits;

    private LlamaCpp(Native library, MemorySegment model, MemorySegment context) {
        this.library = library;
        this.model = model;
        this.context = context;
        vocabulary = (MemorySegment) library.call("llama_model_get_vocab", Native.POINTER, model);
        vocabularySize = (int) library.call("llama_vocab_n_tokens", Native.INT, vocabulary);
        decode = library.function("llama_decode", Native.INT, Native.POINTER, BATCH);
        logits = library.function("llama_get_logits_ith", Native.POINTER, Native.POINTER, Native.INT);
    }

    /**
     * Loads a model.
     *
     * @param libraries the folder with libllama and libggml
     * @param file a GGUF file
     * @param positions the maximum number of tokens of the sequence
     * @param threads the number of threads for one decode step and for many tokens
     * @throws IllegalArgumentException if llama.cpp refuses the file
     */
    public static LlamaCpp load(Path libraries, Path file, int positions, int threads) {
        Native library = Native.load(libraries);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment parameters = arena.allocate(PARAMETERS);
            library.call("llama_model_default_params", Native.POINTER, parameters);
            MethodHandle load =
                    library.function("llama_model_load_from_file", Native.POINTER, Native.POINTER, PARAMETERS);
            MemorySegment model = (MemorySegment) Native.invoke(load, arena.allocateFrom(file.toString()), parameters);
            if (model.equals(MemorySegment.NULL)) {
                throw new IllegalArgumentException(file + ": refused by llama.cpp");
            }
            library.call("llama_context_default_params", Native.POINTER, parameters);
            int[] first = parameters.asSlice(0, 12).toArray(ValueLayout.JAVA_INT);
            if (!Arrays.equals(first, new int[] {512, 2048, 512})) {
                throw new IllegalStateException("llama_context_params begins with " + Arrays.toString(first)
                        + "; expected n_ctx 512, n_batch 2048, n_ubatch 512");
            }
            MemorySegment.copy(
                    new int[] {positions, Math.max(positions, 32), Math.min(Math.max(positions, 32), 512)},
                    0,
                    parameters,
                    ValueLayout.JAVA_INT,
                    0,
                    3);
            MethodHandle begin = library.function("llama_init_from_model", Native.POINTER, Native.POINTER, PARAMETERS);
            MemorySegment context = (MemorySegment) Native.invoke(begin, model, parameters);
            if (context.equals(MemorySegment.NULL)) {
                library.call("llama_model_free", null, model);
                throw new IllegalArgumentException(file + ": no context of " + positions + " positions");
            }
            library.call("llama_set_n_threads", null, context, threads, threads);
            return new LlamaCpp(library, model, context);
        }
    }

    /** Returns the kernels that llama.cpp chose, such as {@code CPU : AVX512 = 1 | ...}. */
    public String system() {
        MemorySegment text = (MemorySegment) library.call("llama_print_system_info", Native.POINTER);
        return text.reinterpret(4096).getString(0);
    }

    /** Returns the number of tokens in the vocabulary: the length of logits. */
    public int vocabularySize() {
        return vocabularySize;
    }

    /**
     * Returns the ids of a text.
     *
     * @param special adds the tokens with which a sequence begins or ends, if the model has these tokens
     * @param parse finds special tokens by their names in the text
     */
    public int[] tokenize(String text, boolean special, boolean parse) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        int most = utf8.length + 8;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocate(utf8.length + 1);
            MemorySegment.copy(utf8, 0, bytes, ValueLayout.JAVA_BYTE, 0, utf8.length);
            MemorySegment ids = arena.allocate(Native.INT, most);
            int count = (int) library.call(
                    "llama_tokenize", Native.INT, vocabulary, bytes, utf8.length, ids, most, special, parse);
            if (count < 0) {
                throw new IllegalStateException(-count + " tokens of " + utf8.length + " bytes");
            }
            return ids.asSlice(0, 4L * count).toArray(Native.INT);
        }
    }

    /** Returns the bytes of a token's text. */
    public byte[] piece(int token) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocate(1024);
            int length =
                    (int) library.call("llama_token_to_piece", Native.INT, vocabulary, token, bytes, 1024, 0, true);
            return bytes.asSlice(0, Math.max(0, length)).toArray(ValueLayout.JAVA_BYTE);
        }
    }

    /**
     * Appends tokens to the sequence.
     *
     * @return the logits after the last of them, in llama.cpp's memory until the next call
     */
    public MemorySegment decode(int... tokens) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment batch = arena.allocate(BATCH);
            batch.set(Native.INT, 0, tokens.length);
            batch.set(Native.POINTER, 8, arena.allocateFrom(Native.INT, tokens));
            int status = (int) Native.invoke(decode, context, batch);
            if (status != 0) {
                throw new IllegalStateException("llama_decode: " + status);
            }
            MemorySegment last = (MemorySegment) Native.invoke(logits, context, -1);
            return last.reinterpret(4L * vocabularySize);
        }
    }

    /**
     * Returns the vector of a sequence, with {@code elements} elements, in a model with pooling: the states of the
     * tokens, pooled as the file requires, or the outputs of the head.
     */
    public float[] embed(int elements, int... tokens) {
        library.call("llama_set_embeddings", null, context, true);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment batch = arena.allocate(BATCH);
            batch.set(Native.INT, 0, tokens.length);
            batch.set(Native.POINTER, 8, arena.allocateFrom(Native.INT, tokens));
            int status = (int) Native.invoke(decode, context, batch);
            if (status != 0) {
                throw new IllegalStateException("llama_decode: " + status);
            }
            MemorySegment vector = (MemorySegment) library.call("llama_get_embeddings_seq", Native.POINTER, context, 0);
            return vector.reinterpret(4L * elements).toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    /** Appends a prompt, and then repeatedly the best token. Returns {@code count} tokens. */
    public int[] greedy(int[] prompt, int count) {
        int[] ids = new int[count];
        MemorySegment after = decode(prompt);
        for (int i = 0; i < count; i++) {
            ids[i] = best(after);
            if (i + 1 < count) {
                after = decode(ids[i]);
            }
        }
        return ids;
    }

    /** Returns the index of the largest number, which is the first index of equal numbers. */
    static int best(MemorySegment logits) {
        int best = 0;
        for (int i = 1; i < logits.byteSize() / 4; i++) {
            if (logits.getAtIndex(ValueLayout.JAVA_FLOAT, i) > logits.getAtIndex(ValueLayout.JAVA_FLOAT, best)) {
                best = i;
            }
        }
        return best;
    }

    /** Removes the sequence. */
    public void clear() {
        MemorySegment memory = (MemorySegment) library.call("llama_get_memory", Native.POINTER, context);
        library.call("llama_memory_clear", null, memory, true);
    }

    /** Frees the model. */
    @Override
    public void close() {
        library.call("llama_free", null, context);
        library.call("llama_model_free", null, model);
    }
}

package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CancellationException;

/**
 * A text that can be continued: its appended and generated tokens, with their keys and values. Steps of sessions that generate at the
 * same time are computed as one batch. The tokens of a session depend neither on other sessions nor on the division of its own tokens
 * into calls.
 *
 * <p>{@link #append} stores tokens. The tokens are computed when they are needed, for example in {@link #generate}.
 *
 * <p>Only one thread at a time may use a session. A call during another thread's call fails with an {@link IllegalStateException}, without
 * an effect on the other call. Any thread may call {@link #close} at any time: a running call then ends with an {@link
 * IllegalStateException}, at the latest after the current step. A listener may call {@link #nextLogits}, {@link #save}, {@link #fork} and
 * {@link #close} of its session; calls that would change the session fail.
 *
 * <p>If the thread of a computing call is interrupted, the call ends within a step with a {@link CancellationException}, and the thread
 * stays interrupted. The tokens that were generated before the interrupt belong to the session, and the next call continues from them. If
 * the sessions need more memory than they have, a call waits ({@link SessionOptions#maxWait}).
 */
public final class Session implements AutoCloseable {
    final SessionState state;
    private final PrefixFile files;
    private final Prompts prompts;
    private final int chunkTokens;

    Session(SessionState state, PrefixFile files, Prompts prompts, int chunkTokens) {
        this.state = state;
        this.files = files;
        this.prompts = prompts;
        this.chunkTokens = chunkTokens;
    }

    /**
     * Appends a text, in which nothing is a control token. The first text of a session begins with the token that the model's file puts
     * before every text.
     *
     * @param text any text
     * @return this session
     * @throws IllegalArgumentException if the session's context has no room for all tokens of the text; no token is appended
     * @throws IllegalStateException if the session is closed or in use by another thread, or if the call comes from the listener of its
     *     generation
     */
    public Session append(String text) {
        return append("text", prompts.encode(text, length() == 0));
    }

    /**
     * Appends a chat in the format of the model's template, up to the start of the model's answer.
     *
     * @param messages the whole chat with its earlier turns. The chat is appended after the tokens of the session, so use a new session for
     *     each turn. A new session reuses the computed tokens of the earlier turns
     * @return this session
     * @throws IllegalArgumentException if the model has no supported template, the template refuses the messages or writes nothing, or the
     *     session's context has no room for all of their tokens; no token is appended
     * @throws IllegalStateException if the session is closed or in use by another thread, or if the call comes from the listener of its
     *     generation
     */
    public Session appendChat(List<ChatMessage> messages) {
        return appendChat(ChatPrompt.of(messages));
    }

    /**
     * Appends a chat with tools, variables of the template, or a time, in the format of the model's template, up to the start of the model's
     * answer.
     *
     * @param prompt the whole chat, as for {@link #appendChat(List)}
     * @return this session
     * @throws IllegalArgumentException if the model has no supported template, the template refuses the chat, writes nothing, or omits its tools,
     *     calls or results, or the session's context has no room for all of its tokens; no token is appended
     * @throws IllegalStateException if the session is closed or in use by another thread, or if the call comes from the listener of its
     *     generation
     */
    public Session appendChat(ChatPrompt prompt) {
        int[] ids = prompts.encodeChat(Checks.notNull(prompt, "prompt"));
        if (ids.length == 0) {
            throw Checks.fail(
                    "messages",
                    prompt.messages().size() + " messages, for which the model's chat template writes nothing",
                    "expected a chat of at least one token");
        }
        return append("messages", ids);
    }

    /**
     * {@return the format of the model's answers; call this method after the prompt is complete}
     *
     * @param tools the tools of the prompt; empty for answers without calls
     * @throws IllegalArgumentException if there are tools, and the format of calls in the model's template is unknown
     * @throws IllegalStateException if the session is closed or in use by another thread, or if the call comes from the listener of its
     *     generation
     */
    public AnswerFormat answerFormat(List<ToolDefinition> tools) {
        boolean entered = state.enterAlone("answerFormat");
        try {
            return AnswerFormat.of(prompts.calls(), tools, prompts.end(state.tokens), length());
        } finally {
            state.leave(entered);
        }
    }

    /**
     * Appends tokens.
     *
     * @param ids tokens of the model's vocabulary
     * @return this session
     * @throws IllegalArgumentException if an id is outside the vocabulary, or the session's context has no room for all of them; no token
     *     is appended
     * @throws IllegalStateException if the session is closed or in use by another thread, or if the call comes from the listener of its
     *     generation
     */
    public Session append(int... ids) {
        return append("ids", Checks.notNull(ids, "ids"));
    }

    private Session append(String argument, int[] ids) {
        boolean entered = state.enterAlone("append");
        try {
            Checks.indices(ids, prompts.vocabulary(), argument);
            if (ids.length > Math.max(0, state.freeTokens())) {
                throw Checks.fail(
                        argument,
                        ids.length + " tokens after " + (length() - state.first),
                        "expected a context of at most " + state.cache.contextTokens);
            }
            for (int id : ids) {
                state.add(id);
            }
            state.seen.endPrompt();
        } finally {
            state.leave(entered);
        }
        return this;
    }

    /**
     * Generates text until an end token, a stop sequence or a limit. If a limit ends the text within a character, this character is a part of
     * the text of the next call. The concatenated texts of several calls are the text of one call.
     *
     * @param options how tokens are chosen, and when the text ends
     * @return the text
     * @throws IllegalStateException if the session is closed before or while it generates, is in use by another thread, or has no token
     *     yet, or if the call comes from the session's listener
     * @throws CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other sessions hold the memory that this one needs for longer than {@link
     *     SessionOptions#maxWait}; the session has the tokens generated until then
     */
    public GeneratedText generate(GenerationOptions options) {
        return generate(options, TokenListener.NONE);
    }

    /**
     * Generates text, and reports each token when it is generated.
     *
     * @param options how tokens are chosen, and when the text ends
     * @param listener receives each token, and may end the text
     * @return the text
     * @throws IllegalStateException if the session is closed before or while it generates, is in use by another thread, or has no token
     *     yet, or if the call comes from the session's listener
     * @throws CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other sessions hold the memory that this one needs for longer than {@link
     *     SessionOptions#maxWait}; the session has the tokens generated until then
     */
    public GeneratedText generate(GenerationOptions options, TokenListener listener) {
        boolean entered = state.enterAlone("generate");
        try {
            Generation generation = begin(options, listener);
            Generations.run(state.cache, List.of(generation), chunkTokens);
            return generation.result();
        } finally {
            state.leave(entered);
        }
    }

    Generation begin(GenerationOptions options, TokenListener listener) {
        return new Generation(state, prompts, options, listener);
    }

    /**
     * Computes the logits of the next token, for use by the program. A classifier reads the logits of its answers. A reranker reads the
     * logits of {@code yes} and {@code no}.
     *
     * @return a new array with a logit for each token of the vocabulary, all finite
     * @throws ArithmeticException if a logit is not finite
     * @throws IllegalStateException if the session is closed or in use by another thread, or has no token yet
     * @throws CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other sessions hold the memory that this one needs for longer than {@code
     *     SessionOptions#maxWait}
     */
    public float[] nextLogits() {
        boolean entered = state.enter();
        try {
            requireTokens();
            return compute();
        } finally {
            state.leave(entered);
        }
    }

    private float[] compute() {
        LogitsTask task = new LogitsTask(state);
        Generations.run(state.cache, List.of(task), chunkTokens);
        return task.logits();
    }

    /**
     * Computes the attention weights of the last token to each token of the session, including itself, in some layers. The call computes
     * the appended tokens that are not computed yet, and a step of one token. It does not change the generated text.
     *
     * @param layers the layers, from 0, each at most once
     * @return new arrays: by layer in the given order, by query head, and by token of the session. The sum of a row is 1 except for
     *     rounding. The sum is less in layers with sinks, which receive the rest. A token outside a layer's window, or a token that was
     *     dropped to slide, has weight 0
     * @throws IllegalArgumentException if a layer does not exist, is repeated, or has no softmax attention, like layers with convolutions
     *     or linear attention
     * @throws IllegalStateException if the session is closed or in use by another thread, or has no token yet
     * @throws CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other sessions hold the memory that this one needs for longer than {@code
     *     SessionOptions#maxWait}
     */
    public float[][][] attention(int... layers) {
        Checks.notNull(layers, "layers");
        boolean entered = state.enter();
        try {
            requireTokens();
            AttentionTask task = new AttentionTask(state, layers.clone());
            Generations.run(state.cache, List.of(task), chunkTokens);
            return task.weights();
        } finally {
            state.leave(entered);
        }
    }

    private void requireTokens() {
        if (length() == 0) {
            throw new IllegalStateException("session: no tokens; expected a prompt");
        }
    }

    /**
     * {@return a new session with the same tokens, which shares their keys and values}
     *
     * @throws IllegalStateException if the session is closed or in use by another thread
     */
    public Session fork() {
        boolean entered = state.enter();
        try {
            return new Session(state.fork(), files, prompts, chunkTokens);
        } finally {
            state.leave(entered);
        }
    }

    /**
     * Saves the session: its tokens, and their keys and values as they are stored in the cache. Tokens that are not computed yet are
     * computed first. {@link Sessions#load} opens it again, in this process or another one, with the same model. The file has the format of
     * {@link io.multihead.cache.CacheSession}, and appears under its name only when it is complete. Other sessions wait while the file is
     * written.
     *
     * @param file the file to write or to replace
     * @throws IOException if writing fails; an existing file is then unchanged
     * @throws IllegalStateException if the session is closed, in use by another thread, has no token yet, or has dropped tokens to slide
     * @throws CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other sessions hold the memory that this one needs for longer than {@code
     *     SessionOptions#maxWait}
     */
    public void save(Path file) throws IOException {
        Checks.notNull(file, "file");
        boolean entered = state.enter();
        try {
            saveTo(file);
        } finally {
            state.leave(entered);
        }
    }

    private void saveTo(Path file) throws IOException {
        if (length() == 0 || state.first > 0) {
            String actual = length() == 0 ? "no tokens" : "slid, with tokens from " + state.first + " on";
            throw new IllegalStateException("session: " + actual + "; expected tokens from the first one on");
        }
        if (state.freeTokens() < 0) {
            throw new IllegalStateException("session: " + length() + " tokens; expected at most its context, "
                    + state.cache.contextTokens + ", as it has before it slides");
        }
        while (state.computed < length()
                || !state.cache.save(state.sequence, length(), file, files.write(state.tokens))) {
            compute(); // also computes tokens whose memory other sessions had taken
        }
    }

    /**
     * Drops the newest tokens.
     *
     * @param length the number of tokens to keep, 0 to {@link #length}
     * @return this session
     * @throws IllegalArgumentException if the session has fewer tokens than {@code length}, or tokens were dropped to slide
     * @throws IllegalStateException if the session is closed or in use by another thread, or if the call comes from the listener of its
     *     generation
     */
    public Session truncate(int length) {
        boolean entered = state.enterAlone("truncate");
        try {
            state.truncate(length);
        } finally {
            state.leave(entered);
        }
        return this;
    }

    /** {@return the number of tokens of the session} */
    public int length() {
        return state.tokens.size();
    }

    /**
     * {@return the bytes of the session's keys and values, including shared and evicted ones; in layers with a window, for at most the
     * window and 511 more tokens}
     */
    public long cacheBytes() {
        long ofTokens = state.cache.bytesOfTokens(state.computed - state.first);
        return ofTokens + (state.computed > 0 ? state.cache.bytesPerSequence() : 0);
    }

    /**
     * Returns all tokens, appended and generated, without end tokens.
     *
     * @return a new array
     * @throws IllegalStateException if the session is in use by another thread
     */
    public int[] tokens() {
        boolean entered = state.enterOpenOrClosed();
        try {
            return state.tokens.toArray(0);
        } finally {
            state.leave(entered);
        }
    }

    /**
     * Frees the session's keys and values, except shared ones. Any thread may call this method, which waits for the current step. A running
     * call of the session ends with an {@link IllegalStateException}, even if its listener calls {@code close}.
     */
    @Override
    public void close() {
        state.close();
    }
}

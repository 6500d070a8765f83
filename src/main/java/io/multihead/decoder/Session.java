package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CancellationException;

/**
 * A text that can be continued: its given and generated tokens, with their keys and values. Steps of sessions that generate at the same
 * time are computed as one batch. The tokens of a session depend neither on other sessions nor on the division of its own tokens into
 * calls.
 *
 * <p>{@link #append} stores tokens; they are computed when they are needed, in {@link #generate}.
 *
 * <p>A session is for one thread at a time. A call during another thread's call fails with an {@link IllegalStateException}, without an
 * effect on the other call. {@link #close} is for any thread at any time: a running call ends with an {@link IllegalStateException}, at the
 * latest after its running step. A listener may call {@link #nextLogits}, {@link #save}, {@link #fork} and {@link #close} of its session; calls that
 * would change the session fail.
 *
 * <p>A call that computes ends within a step if its thread is interrupted: with a {@link CancellationException}, and the thread stays
 * interrupted. Tokens that were generated until then belong to the session, which the next call continues. If the sessions need more memory
 * than they have, a call waits ({@link SessionOptions#maxWait}).
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
     * Appends a text, in which nothing is a control token. The first text of a session gets the token that the model's file puts before
     * every text.
     *
     * @param text any text
     * @return this session
     * @throws IllegalArgumentException if the session's context has no room for all tokens of the text; none is appended then
     * @throws IllegalStateException if the session is closed, in use by another thread, or generates and calls this listener
     */
    public Session append(String text) {
        return append("text", prompts.encode(text, length() == 0));
    }

    /**
     * Appends a chat as the model's template writes it, up to where the model answers.
     *
     * @param messages the whole chat, also its earlier turns; it is appended after the tokens of the session. So use a new session for each
     *     turn, which reuses the tokens of the earlier turns
     * @return this session
     * @throws IllegalArgumentException if the model has no template that can be read, the template refuses the messages or writes nothing, or the
     *     session's context has no room for all of their tokens; none is appended then
     * @throws IllegalStateException if the session is closed, in use by another thread, or generates and calls this listener
     */
    public Session appendChat(List<ChatMessage> messages) {
        return appendChat(ChatPrompt.of(messages));
    }

    /**
     * Appends a chat with tools, variables of the template, or a time, as the model's template writes it, up to where the model answers.
     *
     * @param prompt the chat, whole, as for {@link #appendChat(List)}
     * @return this session
     * @throws IllegalArgumentException if the model has no template that can be read, the template refuses the chat, writes nothing, or leaves its tools, calls
     *     or results out, or the session's context has no room for all of its tokens; none is appended then
     * @throws IllegalStateException if the session is closed, in use by another thread, or generates and calls this listener
     */
    public Session appendChat(ChatPrompt prompt) {
        int[] ids = prompts.encodeChat(Checks.notNull(prompt, "prompt"));
        if (ids.length == 0) {
            throw Checks.fail(
                    "messages",
                    prompt.messages().size() + " of them, of which the model's chat template writes nothing",
                    "expected a chat of at least one token");
        }
        return append("messages", ids);
    }

    /**
     * {@return how the model's answers are read, to be asked for when the prompt is complete}
     *
     * @param tools the tools of the prompt; empty for answers without calls
     * @throws IllegalArgumentException if there are tools, and the model's template writes calls in a way that is not known
     * @throws IllegalStateException if the session is closed, in use by another thread, or generates and calls this listener
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
     * @throws IllegalArgumentException if an id is outside of the vocabulary, or the session's context has no room for all of them; none is
     *     appended then
     * @throws IllegalStateException if the session is closed, in use by another thread, or generates and calls this listener
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
     * Generates text until an end token, a stop sequence or a limit. A character whose bytes are not all there when a limit ends the text comes
     * with the text of the next call: texts of several calls together are the text of one.
     *
     * @param options how tokens are chosen, and when the text ends
     * @return the text
     * @throws IllegalStateException if the session is closed, before or while it generates, is in use by another thread or by the caller
     *     of this listener, or has no token yet
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
     * @throws IllegalStateException if the session is closed, before or while it generates, is in use by another thread or by the caller
     *     of this listener, or has no token yet
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
     * Computes the logits of the next token, for the program's own choice. A classifier reads the logits of its answers, a reranker the
     * logits of {@code yes} and {@code no}.
     *
     * @return a new array with a logit for each token of the vocabulary, all finite
     * @throws ArithmeticException if one is not finite
     * @throws IllegalStateException if the session is closed, in use by another thread, or has no token yet
     * @throws CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other sessions hold the room that this one needs for longer than calls wait
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
     * Computes the attention weights of the last token to each token of the session, itself included, in some layers. The call takes a step
     * of one token, besides appended tokens that are not computed yet. It changes no bit of the generated text.
     *
     * @param layers from 0; none is asked for twice
     * @return new arrays: by layer as asked for, by query head, and by token of the session. A row's sum is 1 but for rounding, less where
     *     layers have sinks, to which the rest falls; a token outside of a layer's window, or one that was dropped to slide, has 0
     * @throws IllegalArgumentException if there is no such layer, one is repeated, or it has no softmax attention, as layers with convolutions or
     *     linear attention
     * @throws IllegalStateException if the session is closed, in use by another thread, or has no token yet
     * @throws CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other sessions hold the room that this one needs for longer than calls wait
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
     * computed first. {@link Sessions#load} opens it again, in this process or another one, with the same model. The file is one of {@link
     * io.multihead.cache.CacheSession}; it appears whole, and at once, under its name. Other sessions wait while it is written.
     *
     * @param file the file to write or to replace
     * @throws IOException if writing fails; the old file is then as it was
     * @throws IllegalStateException if the session is closed, in use by another thread, has no token yet, or has dropped tokens to slide
     * @throws CancellationException if the thread is interrupted
     * @throws io.multihead.cache.CacheFullException if other sessions hold the room that this one needs for longer than calls wait
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
            String actual = length() == 0 ? "no tokens" : "tokens from " + state.first + " on";
            throw new IllegalStateException("session: " + actual + "; expected tokens from the first one on");
        }
        if (state.freeTokens() < 0) {
            throw new IllegalStateException("session: " + length() + " tokens; expected at most its context, "
                    + state.cache.contextTokens + ", as it has before it slides");
        }
        while (state.computed < length()
                || !state.cache.save(state.sequence, length(), file, files.write(state.tokens))) {
            compute(); // also tokens whose memory others had taken
        }
    }

    /**
     * Drops the newest tokens.
     *
     * @param length tokens to keep, 0 to {@link #length}
     * @return this session
     * @throws IllegalArgumentException if there are not as many, or older ones were dropped to slide
     * @throws IllegalStateException if the session is closed, in use by another thread, or generates and calls this listener
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

    /** {@return how many tokens the session has} */
    public int length() {
        return state.tokens.size();
    }

    /**
     * {@return the bytes of the session's keys and values, including shared ones and ones that other sessions have evicted; in layers with
     *     a window, of at most the window and 511 more tokens}
     */
    public long cacheBytes() {
        long ofTokens = state.cache.bytesOfTokens(state.computed - state.first);
        return ofTokens + (state.computed > 0 ? state.cache.bytesPerSequence() : 0);
    }

    /**
     * Returns all tokens, given and generated, without end tokens.
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
     * Frees the session's keys and values, except shared ones. May be called by any thread, and waits for the running step. A running call
     * of the session, also one that called this listener, ends with an {@link IllegalStateException}.
     */
    @Override
    public void close() {
        state.close();
    }
}

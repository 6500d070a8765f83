package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * One text that goes on: tokens that were given or generated, and their keys and values. For one thread at a time; other sessions may
 * generate at the same time, whose steps are then computed together. A session's tokens depend neither on them nor on how its own were
 * divided into calls.
 *
 * <p>{@link #append} stores tokens; they are computed when they are needed, in {@link #generate}.
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
     * @throws IllegalStateException if the session is closed
     */
    public Session append(String text) {
        return append("text", prompts.encode(text, length() == 0));
    }

    /**
     * Appends a chat as the model's template writes it, up to where the model answers.
     *
     * @param messages the chat; a session that has tokens already gets them once more, so a chat that goes on is best given whole to a new
     *     session, or to a fork of one that has the tokens of its begin
     * @return this session
     * @throws IllegalArgumentException if the model has no template that is offered, messages are not in turns, or the session's context
     *     has no room for all of their tokens; none is appended then
     * @throws IllegalStateException if the session is closed
     */
    public Session appendChat(List<ChatMessage> messages) {
        return append("messages", prompts.encodeChat(messages));
    }

    /**
     * Appends tokens.
     *
     * @param ids tokens of the model's vocabulary
     * @return this session
     * @throws IllegalArgumentException if an id is none, or the session's context has no room for all of them; none is appended then
     * @throws IllegalStateException if the session is closed
     */
    public Session append(int... ids) {
        return append("ids", Checks.notNull(ids, "ids"));
    }

    private Session append(String argument, int[] ids) {
        state.requireOpen();
        Checks.indices(ids, prompts.vocabulary(), argument);
        if (ids.length > Math.max(0, state.room())) {
            throw Checks.fail(
                    argument,
                    ids.length + " tokens after " + (length() - state.first),
                    "expected a context of at most " + state.cache.contextTokens);
        }
        for (int id : ids) {
            state.add(id);
        }
        return this;
    }

    /**
     * Generates text until an end token, a stop text or a limit.
     *
     * @param options how tokens are chosen, and when the text ends
     * @return the text
     * @throws IllegalStateException if the session is closed or has no token yet
     * @throws io.multihead.cache.CacheFullException if other sessions hold the room that this one needs; what was generated until
     *     then is among its tokens
     */
    public GeneratedText generate(GenerationOptions options) {
        return generate(options, TokenListener.NONE);
    }

    /**
     * Generates text, and tells of each token as it comes.
     *
     * @param options how tokens are chosen, and when the text ends
     * @param listener is told of each token, and may end the text
     * @return the text
     * @throws IllegalStateException if the session is closed or has no token yet
     * @throws io.multihead.cache.CacheFullException if other sessions hold the room that this one needs; what was generated until
     *     then is among its tokens
     */
    public GeneratedText generate(GenerationOptions options, TokenListener listener) {
        Generation generation = begin(options, listener);
        Generations.run(state.cache, List.of(generation), chunkTokens);
        return generation.result();
    }

    Generation begin(GenerationOptions options, TokenListener listener) {
        return new Generation(state, prompts.tokenizer(), options, listener);
    }

    /**
     * Computes the logits of the token that would follow, for a choice of the program's own: a classifier reads those of its answers, a
     * reranker those of {@code yes} and {@code no}.
     *
     * @return a new array with a logit for each token of the vocabulary
     * @throws IllegalStateException if the session is closed or has no token yet
     * @throws io.multihead.cache.CacheFullException if other sessions hold the room that this one needs
     */
    public float[] nextLogits() {
        state.requireOpen();
        if (length() == 0) {
            throw new IllegalStateException("session: no tokens; expected a prompt");
        }
        if (state.room() < 0) {
            state.slide(); // the last token of a text that slides has no room yet
        }
        Generations.compute(state, chunkTokens);
        return Arrays.copyOf(state.step.logits(0, prompts.vocabulary()), prompts.vocabulary());
    }

    /**
     * Returns a new session with the same tokens, which shares what is in the cache.
     *
     * @return the session
     * @throws IllegalStateException if the session is closed
     */
    public Session fork() {
        return new Session(state.fork(prompts.vocabulary()), files, prompts, chunkTokens);
    }

    /**
     * Saves the session: its tokens, and their keys and values as they are in the cache, after computing those that wait. {@link
     * Sessions#load} opens it again, in this process or another one, with the same model. The file is one of {@link
     * io.multihead.cache.CacheSession}; it appears whole, and at once, under its name. Other sessions wait while it is written.
     *
     * @param file the file to write or to replace
     * @throws IOException if writing fails; the old file is then as it was
     * @throws IllegalStateException if the session is closed, has no token yet, or has dropped tokens to slide
     * @throws io.multihead.cache.CacheFullException if other sessions hold the room that this one needs
     */
    public void save(Path file) throws IOException {
        Checks.notNull(file, "file");
        state.requireOpen();
        if (length() == 0 || state.first > 0) {
            String actual = length() == 0 ? "no tokens" : "tokens from " + state.first + " on";
            throw new IllegalStateException("session: " + actual + "; expected tokens from the first one on");
        }
        if (state.room() < 0) {
            throw new IllegalStateException("session: " + length() + " tokens; expected at most its context, "
                    + state.cache.contextTokens + ", as it has before it slides");
        }
        if (state.computed < length()) {
            Generations.compute(state, chunkTokens);
        }
        state.cache.save(state.step.sequence, length(), file, files.write(state.tokens));
    }

    /**
     * Drops the newest tokens.
     *
     * @param length tokens to keep, 0 to {@link #length}
     * @return this session
     * @throws IllegalArgumentException if there are not as many, or older ones were dropped to slide
     * @throws IllegalStateException if the session is closed
     */
    public Session truncate(int length) {
        state.truncate(length);
        return this;
    }

    /**
     * {@return how many tokens the session has}
     */
    public int length() {
        return state.tokens.size();
    }

    /**
     * {@return the bytes of the session's keys and values, those that it shares included}
     */
    public long cacheBytes() {
        return (state.computed - state.first) * state.cache.bytesPerToken();
    }

    /**
     * {@return a new array of all tokens, given and generated, without end tokens}
     */
    public int[] tokens() {
        return state.tokens.toArray(0);
    }

    /**
     * Frees what the session has in the cache, unless another one shares it.
     */
    @Override
    public void close() {
        state.close();
    }
}

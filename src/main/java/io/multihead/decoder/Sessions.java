package io.multihead.decoder;

import io.multihead.cache.CacheFullException;
import io.multihead.internal.base.Checks;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The sessions of a model that share a cache. Steps that several threads request at the same time, and the steps of one call for several
 * sessions, are computed as one batch. The tokens of a session do not depend on the batch, on the number of threads, or on the division of
 * the prefill into steps.
 *
 * <p>Calls without room in the cache wait. The call that began first always continues. This call takes the memory of sessions that no call
 * uses, the least recently used session first, and then the memory of calls that began later. An evicted session computes its tokens again
 * when it continues, with the same bits. A session that has slid keeps its memory, because it cannot be computed again. {@link
 * SessionOptions#maxWait} limits the wait.
 *
 * <p>The keys and values of a closed session stay in unused memory. A prompt that begins with at least 16 of the same tokens starts from
 * the longest such prefix, with the same bits. Therefore a chat that is appended as a whole at each turn computes only the new turn. The
 * least recently used prefixes are evicted first.
 *
 * <p>Thread-safe; only one thread at a time may use a {@link Session}. The memory is native and has {@link #bytesPerToken} for each token.
 * It is allocated as sessions grow, and {@link #close} frees it.
 */
public final class Sessions implements AutoCloseable {
    private final SessionCache cache;
    private final PrefixFile files;
    private final Prompts prompts;
    private final int chunkTokens;

    /**
     * Creates sessions.
     *
     * @param chunkTokens the largest number of tokens of one session in a batch
     */
    Sessions(SessionCache cache, PrefixFile files, Prompts prompts, int chunkTokens) {
        this.cache = cache;
        this.files = files;
        this.prompts = prompts;
        this.chunkTokens = chunkTokens;
    }

    /**
     * Opens a session without tokens.
     *
     * @return the session
     * @throws IllegalStateException if this object is closed
     */
    public Session open() {
        return session(cache.open());
    }

    private Session session(CachedSequence sequence) {
        return new Session(state(sequence), files, prompts, chunkTokens);
    }

    private SessionState state(CachedSequence sequence) {
        try {
            return new SessionState(cache, sequence);
        } catch (Throwable failed) {
            cache.close(sequence);
            throw failed;
        }
    }

    /** Opens the state of a session, for tasks of other kinds. */
    SessionState openState() {
        return state(cache.open());
    }

    /** Runs tasks of these sessions. The next steps of all tasks are one batch. */
    void run(List<? extends SessionTask> tasks) {
        Generations.run(cache, tasks, chunkTokens);
    }

    /**
     * Opens a session from a file that {@link Session#save} wrote in this process or another one. The session continues with the same bits
     * as the saved session. Other sessions wait while the file is read.
     *
     * <p>The model must have the same configuration and the same bytes of all weights as the model that saved the session. A
     * checksum compares them. It is computed when a session is saved or loaded for the first time, and reads the model's file once.
     *
     * @param file the file
     * @return the session
     * @throws IOException if the file cannot be read
     * @throws IllegalArgumentException if the file is malformed, or has another model, another {@link SessionOptions#cacheFormat} or a
     *     longer context than these sessions; the message names the file and both values, and no session is opened
     * @throws CacheFullException if other sessions hold the memory that this one needs for longer than {@link SessionOptions#maxWait}
     * @throws java.util.concurrent.CancellationException if the thread is interrupted while it waits
     * @throws IllegalStateException if this object is closed
     */
    public Session load(Path file) throws IOException {
        Checks.notNull(file, "file");
        cache.requireOpen();
        Patience patience = new Patience(cache.maxWait);
        while (true) {
            int seen = cache.changes.count();
            try {
                return loadNow(file);
            } catch (CacheFullException full) {
                if (patience.isOver()) {
                    throw full;
                }
                Checks.notInterrupted("session");
                cache.changes.await(seen, cache.maxWait);
            }
        }
    }

    private Session loadNow(Path file) throws IOException {
        TokenList tokens = new TokenList();
        CachedSequence sequence =
                cache.load(file, notes -> files.read(notes, cache.contextTokens, tokens), tokens::size);
        Session session = session(sequence);
        session.state.restore(tokens);
        return session;
    }

    /**
     * Generates texts of several sessions on the calling thread, in shared steps.
     *
     * @param sessions different sessions of this object
     * @param options the options of each text
     * @return the texts, in the order of the sessions
     * @throws IllegalArgumentException if a session belongs to another object or is given twice, or the numbers of sessions and options
     *     differ
     * @throws IllegalStateException if a session is closed before or while it generates, is in use, or has no token yet; the texts of the
     *     other sessions are then complete, and can be read from their tokens
     * @throws java.util.concurrent.CancellationException if the thread is interrupted
     * @throws CacheFullException if there is no memory for a session for longer than {@code SessionOptions#maxWait}; the texts of the
     *     other sessions are then complete, and can be read from their tokens
     */
    public List<GeneratedText> generate(List<Session> sessions, List<GenerationOptions> options) {
        List<Session> each = Checks.noNulls(sessions, "sessions");
        Checks.length(Checks.noNulls(options, "options").size(), each.size(), "options", "one per session");
        for (int i = 0; i < each.size(); i++) {
            if (each.get(i).state.cache != cache || each.indexOf(each.get(i)) != i) {
                throw Checks.fail(
                        "sessions[" + i + "]",
                        "of another object or given twice",
                        "expected different sessions of this object");
            }
        }
        List<SessionState> entered = new ArrayList<>();
        try {
            List<Generation> all = new ArrayList<>();
            for (int i = 0; i < each.size(); i++) {
                each.get(i).state.enterAlone("generate");
                entered.add(each.get(i).state);
                all.add(each.get(i).begin(options.get(i), TokenListener.NONE));
            }
            Generations.run(cache, all, chunkTokens);
            return all.stream().map(Generation::result).toList();
        } finally {
            entered.forEach(state -> state.leave(true));
        }
    }

    /** {@return the largest number of tokens of a session} */
    public int contextTokens() {
        return cache.contextTokens;
    }

    /** {@return the bytes of keys and values of one token} */
    public long bytesPerToken() {
        return cache.bytesPerToken();
    }

    /** {@return the bytes of the keys and values of open sessions; shared pages count once} */
    public long usedBytes() {
        return cache.usedBytes();
    }

    /**
     * {@return counts of prompts that began with prefixes of closed sessions ({@link SessionOptions#keepsPrefixes}); counted since
     * this object was made}
     */
    public PrefixReuse prefixReuse() {
        return cache.prefixReuse();
    }

    /** Frees the memory of all sessions after the running batch. Their running calls end with an {@link IllegalStateException}. */
    @Override
    public void close() {
        cache.close();
    }
}

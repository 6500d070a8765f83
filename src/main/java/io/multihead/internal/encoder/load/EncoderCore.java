package io.multihead.internal.encoder.load;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.load.Loading;
import io.multihead.model.Buffers;
import io.multihead.text.EncoderTokenizer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * The state that all views of one encoder share: weights, tokenizer, threads, and intermediate results that wait for the next batch. The number
 * of batches that are computed at the same time is at most the number of processors, or the number of threads of the Compute if that is larger.
 * Further callers, possibly thousands of virtual threads, wait, so that they do not hold memory.
 */
public final class EncoderCore {
    public final Compute cpu;
    public final EncoderModel model;
    public final EncoderTokenizer tokenizer;
    /** The loaded model, whose arena owns the memory of all weights until this core is closed. */
    public final Loading loading;

    private final Semaphore turns;
    private final Deque<Buffers> idle = new ArrayDeque<>();
    private volatile boolean closed;

    /** Fails if the tokenizer has tokens without a row in the model. */
    EncoderCore(Loading loading, EncoderModel model, EncoderTokenizer tokenizer) {
        this.loading = loading;
        this.cpu = loading.cpu();
        this.model = model;
        this.tokenizer = requireRows(tokenizer, model.config);
        this.turns =
                new Semaphore(Math.max(cpu.parallelism(), Runtime.getRuntime().availableProcessors()));
    }

    /**
     * Returns a tokenizer, or fails if a model has no row for a token of its vocabulary or for a token that every text has. Other tokens
     * that were added to the vocabulary need no row; the model fails if a text has such a token, as in transformers.
     */
    static EncoderTokenizer requireRows(EncoderTokenizer tokenizer, EncoderConfig config) {
        int rows = config.vocabulary();
        if (tokenizer.ownVocabularySize() > rows) {
            throw Checks.fail(
                    "tokenizer",
                    tokenizer.ownVocabularySize() + " tokens",
                    "expected at most the " + rows + " of the model's word embeddings");
        }
        int last = Math.max(tokenizer.firstToken(), tokenizer.lastToken());
        if (last >= rows) {
            throw Checks.fail(
                    "tokenizer",
                    "\"" + tokenizer.token(last) + "\" with id " + last + " around every text",
                    "expected an id below the " + rows + " of the model's word embeddings");
        }
        return tokenizer;
    }

    /** Returns a maximum of tokens per text, or fails if it is below {@code least} or above the model's positions. */
    public int requireLength(int maxTokens, int least) {
        Checks.atLeast(maxTokens, least, "maxTokens");
        int positions = model.config.positions();
        if (maxTokens > positions) {
            throw Checks.fail(
                    "maxTokens", String.valueOf(maxTokens), "expected at most the model's " + positions + " positions");
        }
        return maxTokens;
    }

    /** Takes buffers for a batch, and waits if too many buffers are in use. The caller must give the buffers back. */
    public Buffers take(int tokens) {
        requireOpen();
        turns.acquireUninterruptibly();
        Buffers waiting;
        synchronized (idle) {
            waiting = idle.pollLast();
        }
        if (waiting != null && waiting.capacity() >= tokens) {
            return waiting;
        }
        try {
            return model.transformer.buffers(Math.max(tokens, EncoderConfig.BATCH_TOKENS));
        } catch (Throwable failed) {
            turns.release();
            throw failed;
        }
    }

    /**
     * Ends every call before its next batch. A running batch may end sooner if it reads weights whose memory is freed. A second call has no
     * effect, even by another thread.
     */
    public void close() {
        closed = true;
        loading.close();
    }

    /** Returns an object that is made for this core, or closes the core if its creation fails. */
    public <T, E extends Exception> T orClose(Checks.Reading<T, E> making) throws E {
        return orClose(this::close, making);
    }

    /** Returns an object, or closes its source if its creation fails. */
    public static <T, E extends Exception> T orClose(Runnable closing, Checks.Reading<T, E> making) throws E {
        try {
            return making.read();
        } catch (Throwable failed) {
            closing.run();
            throw failed;
        }
    }

    /** Fails if this core is closed. */
    public void requireOpen() {
        if (closed) {
            throw closed(null);
        }
    }

    /**
     * Returns the exception for a failed batch: an error that states that this core is closed, if it was closed during the batch, or else the
     * failure itself.
     */
    public RuntimeException orClosed(RuntimeException failed) {
        return closed ? closed(failed) : failed;
    }

    private static IllegalStateException closed(@Nullable RuntimeException cause) {
        return new IllegalStateException("encoder: closed; expected an open one", cause);
    }

    public void giveBack(Buffers buffers) {
        synchronized (idle) {
            idle.addLast(buffers);
        }
        turns.release();
    }
}

package io.multihead.internal.encoder.run;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.text.TokenBuffer;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One pass over texts. It fills batches with the sequences of the texts, in the order of the texts, and computes the batches. A sequence that
 * has no room in a batch waits for the next batch. An object is reused for the next pass. Not thread-safe.
 */
public abstract class BatchRun {
    /** The value of an unknown number of texts. */
    protected static final long UNKNOWN = Long.MAX_VALUE;

    protected final EncoderCore core;
    /** The tokens of the text that was opened last. */
    protected final TokenBuffer tokens = new TokenBuffer();

    private final ListTexts listTexts = new ListTexts();
    private TokenBatch batch = TokenBatch.of(EncoderConfig.BATCH_TOKENS);
    private Iterator<?> texts = listTexts;
    private long count;
    private long index;
    /** The largest number of tokens of a batch; its capacity may be larger, after the pass of a view for longer texts. */
    private int mostTokens;
    /** Whether the text that was opened last has further sequences. */
    private boolean hasText;

    protected BatchRun(EncoderCore core) {
        this.core = core;
    }

    /** Begins with the texts of a list: {@code newCount} texts or, if this number is unknown, as many texts as the list has at the end. */
    protected final void start(List<?> newTexts, long newCount, int mostTokensOfText) {
        core.requireOpen(); // checked here, too, since nothing is computed without texts
        start(listTexts.begin(newTexts), newCount, mostTokensOfText);
    }

    /** Begins with texts, of which one may have {@code mostTokensOfText} tokens. */
    protected final void start(Iterator<?> newTexts, long newCount, int mostTokensOfText) {
        texts = newTexts;
        count = newCount;
        index = 0;
        hasText = false;
        mostTokens = Math.max(mostTokensOfText, EncoderConfig.BATCH_TOKENS);
        batch.clear();
        if (batch.capacity() < mostTokens) {
            batch = TokenBatch.of(mostTokens);
        }
    }

    /** Computes one batch, and returns false if no text is left. Fails before the batch if the calling thread is interrupted. */
    protected final boolean step() {
        core.requireOpen(); // checked here, too, since no buffers are taken without texts
        fill();
        if (batch.sequences() == 0) {
            return false;
        }
        Checks.notInterrupted("encoder");
        Buffers buffers = core.take(batch.tokens());
        try {
            Checks.notInterrupted("encoder"); // again, after a wait for buffers
            core.model.transformer.forward(core.cpu, batch, buffers);
            read(batch, buffers);
        } catch (RuntimeException failed) {
            throw core.orClosed(failed);
        } finally {
            core.giveBack(buffers);
        }
        try {
            finish(batch);
        } catch (RuntimeException failed) {
            throw core.orClosed(failed);
        }
        return true;
    }

    private void fill() {
        batch.clear();
        while (hasText || (count == UNKNOWN ? texts.hasNext() : index < count)) {
            if (!hasText) {
                tokens.clear();
                open(texts.next(), index);
                index++;
                hasText = true;
            }
            if (batch.tokens() + length() > mostTokens) {
                return;
            }
            hasText = add(batch);
        }
    }

    /** Reads a text's {@link #tokens}. */
    protected abstract void open(@Nullable Object text, long number);

    /** Returns the number of tokens of the text's next sequence. */
    protected abstract int length();

    /** Adds the text's next sequence, and returns whether the text has another sequence. */
    protected abstract boolean add(TokenBatch to);

    /** Takes the results from a batch's states. */
    protected abstract void read(TokenBatch of, Buffers states);

    /** Finishes a batch whose states were read; other runs may already use its buffers. */
    protected abstract void finish(TokenBatch of);

    /** Drops the references to the texts. */
    public void clear() {
        tokens.clear();
        listTexts.end();
        texts = listTexts;
    }

    protected static String requireText(@Nullable Object text, String name, long number) {
        if (!(text instanceof String plain)) {
            throw new NullPointerException(name + " " + number + ": " + text + "; expected a text");
        }
        return plain;
    }

    /**
     * Adds a sequence with some tokens of the text, between the first and the last token that the tokenizer puts around texts. If the tokenizer
     * puts no tokens around texts, token 0 represents a sequence without tokens.
     */
    protected final void addTokens(TokenBatch to, int from, int end) {
        boolean isEnded = core.tokenizer.specialTokenCount() > 0;
        to.begin();
        if (isEnded) {
            to.add(core.tokenizer.firstToken());
        }
        for (int token = from; token < end; token++) {
            to.add(tokens.id(token));
        }
        if (isEnded) {
            to.add(core.tokenizer.lastToken());
        } else if (from == end) {
            to.add(0);
        }
    }
}

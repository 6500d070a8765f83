package io.multihead.encoder;

import io.multihead.internal.encoder.family.MaskedHead;
import io.multihead.internal.encoder.layer.RowViews;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.run.BatchRun;
import io.multihead.internal.encoder.run.Vectors;
import io.multihead.model.Buffers;
import io.multihead.model.PackedLinear;
import io.multihead.model.TokenBatch;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One pass over texts. It computes the logits of some tokens at a time, and keeps the largest logit of each word of the vocabulary for each
 * text.
 */
final class SparseRun extends BatchRun {
    /**
     * The number of tokens whose logits are in memory at a time: enough for the speed of a product, 8 MB for 30,522 words, and fewer tokens
     * for more words.
     */
    private static final int MOST_ROWS = 64;

    private static final int LEAST_ROWS = 8;
    private static final int MOST_LOGITS = 1 << 21;
    private static final SparseVector[] NONE = {};

    private final MaskedHead head;
    private final SparseActivation activation;
    private final int rows;
    private final RowViews dense;
    private final RowViews normalized;
    private final RowViews logits;
    private final float[] largest;

    private SparseVector[] vectors = NONE;
    private int done;
    private int maxTokens;
    /** The number of tokens of the text that are read. */
    private int kept;

    SparseRun(EncoderCore core, MaskedHead head, SparseActivation activation) {
        super(core);
        this.head = head;
        this.activation = activation;
        int dim = core.model.config.dim();
        dense = new RowViews(dim);
        int words = head.decoder().outputs();
        rows = Math.clamp(MOST_LOGITS / words, LEAST_ROWS, MOST_ROWS);
        normalized = new RowViews(dim).of(rows);
        logits = new RowViews(words).of(rows);
        largest = new float[words];
    }

    /** Computes the vectors of texts, in their order. */
    SparseVector[] run(List<String> texts, int maxTokensOfText) {
        vectors = new SparseVector[texts.size()];
        done = 0;
        maxTokens = maxTokensOfText;
        start(texts, vectors.length, maxTokens);
        while (done < vectors.length) {
            step();
        }
        return vectors;
    }

    @Override
    public void clear() {
        super.clear();
        vectors = NONE;
    }

    @Override
    protected void open(@Nullable Object text, long number) {
        core.tokenizer.append(requireText(text, "text", number), tokens);
        kept = Math.min(tokens.size(), maxTokens - core.tokenizer.specialTokenCount());
    }

    @Override
    protected int length() {
        return kept + core.tokenizer.specialTokenCount();
    }

    @Override
    protected boolean add(TokenBatch to) {
        addTokens(to, 0, kept);
        return false;
    }

    @Override
    protected void read(TokenBatch of, Buffers states) {
        head.dense().forward(core.cpu, states.states(), dense.get(of.tokens()));
    }

    @Override
    protected void finish(TokenBatch of) {
        int sequence = 0;
        Arrays.fill(largest, 0);
        for (int from = 0; from < of.tokens(); from += rows) {
            int count = Math.min(rows, of.tokens() - from);
            logits(from, count);
            for (int row = 0; row < count; row++) {
                raise(row * largest.length);
                if (from + row + 1 == of.start(sequence + 1)) {
                    Vectors.requireFinite(largest, "text", done + sequence);
                    vectors[done + sequence] = activation.vector(largest);
                    Arrays.fill(largest, 0);
                    sequence++;
                }
            }
        }
        done += sequence;
    }

    private void logits(int from, int count) {
        PackedLinear decoder = head.decoder();
        int dim = normalized.length();
        for (int row = 0; row < count; row++) {
            head.normalize(dense.array(), (from + row) * dim, normalized.array(), row * dim);
        }
        decoder.forward(core.cpu, normalized.get(count), logits.get(count));
    }

    /** Updates the largest logit of each word of the vocabulary with the logits of a row. 0 is the smallest logit with an effect. */
    private void raise(int at) {
        float[] row = logits.array();
        for (int i = 0; i < largest.length; i++) {
            largest[i] = Math.max(largest[i], row[at + i]);
        }
    }
}

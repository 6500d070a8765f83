package io.multihead.encoder;

import io.multihead.model.Buffers;
import io.multihead.model.PackedLinear;
import io.multihead.model.TokenBatch;
import io.multihead.text.TokenBuffer;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One pass over texts: fills batches, computes the logits of some tokens at a time, and keeps the largest of each text. Reused for the next pass. */
final class SparseRun {
    /** Tokens whose logits are in memory at a time: enough for a product's speed, 8 MB for 30,522 words, and fewer tokens for more words. */
    private static final int MOST_ROWS = 64;

    private static final int LEAST_ROWS = 8;
    private static final int MOST_LOGITS = 1 << 21;

    private final EncoderCore core;
    private final MaskedHead head;
    private final SparseActivation activation;
    private final TokenBuffer tokens = new TokenBuffer();
    private final int rows;
    private final RowViews dense;
    private final RowViews normalised;
    private final RowViews logits;
    private final float[] largest;
    private TokenBatch batch = TokenBatch.of(EncoderConfig.BATCH_TOKENS);

    SparseRun(EncoderCore core, MaskedHead head, SparseActivation activation) {
        this.core = core;
        this.head = head;
        this.activation = activation;
        int dim = core.model.config.dim();
        dense = new RowViews(dim);
        int words = head.decoder().outputs();
        rows = Math.clamp(MOST_LOGITS / words, LEAST_ROWS, MOST_ROWS);
        normalised = new RowViews(dim).of(rows);
        logits = new RowViews(words).of(rows);
        largest = new float[words];
    }

    /** Computes the vectors of texts, in their order. */
    SparseVector[] run(List<String> texts, int maxTokens) {
        core.requireOpen(); // here too, since without texts nothing is computed
        SparseVector[] vectors = new SparseVector[texts.size()];
        int most = Math.max(maxTokens, EncoderConfig.BATCH_TOKENS);
        if (batch.capacity() < most) {
            batch = TokenBatch.of(most);
        }
        int next = 0;
        int kept = -1;
        for (int done = 0; done < vectors.length; done += batch.sequences()) {
            batch.clear();
            while (kept >= 0 || next < vectors.length) {
                if (kept < 0) {
                    kept = open(texts.get(next), next, maxTokens);
                    next++;
                }
                if (batch.tokens() + kept + 2 > most) {
                    break;
                }
                append(kept);
                kept = -1;
            }
            compute(vectors, done);
        }
        return vectors;
    }

    /** Forgets the texts. */
    void forget() {
        tokens.clear();
    }

    /** Returns how many tokens of a text count. */
    private int open(@Nullable String text, int index, int maxTokens) {
        if (text == null) {
            throw new NullPointerException("text " + index + ": null; expected a text");
        }
        tokens.clear();
        core.tokenizer.append(text, tokens);
        return Math.min(tokens.size(), maxTokens - 2);
    }

    private void append(int kept) {
        batch.begin();
        batch.add(core.tokenizer.firstToken());
        for (int i = 0; i < kept; i++) {
            batch.add(tokens.id(i));
        }
        batch.add(core.tokenizer.lastToken());
    }

    private void compute(SparseVector[] vectors, int at) {
        Buffers buffers = core.take(batch.tokens());
        try {
            core.model.forward(core.cpu, batch, buffers);
            head.dense().forward(core.cpu, buffers.states(), dense.get(batch.tokens()));
        } finally {
            core.giveBack(buffers);
        }
        int sequence = 0;
        Arrays.fill(largest, 0);
        for (int from = 0; from < batch.tokens(); from += rows) {
            int count = Math.min(rows, batch.tokens() - from);
            logits(from, count);
            for (int row = 0; row < count; row++) {
                raise(row * largest.length);
                if (from + row + 1 == batch.start(sequence + 1)) {
                    vectors[at + sequence] = activation.vector(largest);
                    Arrays.fill(largest, 0);
                    sequence++;
                }
            }
        }
    }

    private void logits(int from, int count) {
        PackedLinear decoder = head.decoder();
        int dim = normalised.length();
        for (int row = 0; row < count; row++) {
            head.normalise(dense.array(), (from + row) * dim, normalised.array(), row * dim);
        }
        decoder.forward(core.cpu, normalised.get(count), logits.get(count));
    }

    /** Keeps the larger of each token's logits; 0 is the least that counts. */
    private void raise(int at) {
        float[] row = logits.array();
        for (int i = 0; i < largest.length; i++) {
            largest[i] = Math.max(largest[i], row[at + i]);
        }
    }
}

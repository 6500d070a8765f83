package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.text.TokenBuffer;
import java.util.Iterator;
import java.util.List;
import java.util.RandomAccess;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One pass over the passages of a query: fills batches with pairs, computes them, and writes the numbers of all labels in the order of the
 * passages. Reused for the next pass; for one caller at a time.
 */
final class RerankRun {
    private final EncoderCore core;
    private final PairFormat format;
    private final TokenBuffer query = new TokenBuffer();
    private final TokenBuffer passage = new TokenBuffer();
    private final ListTexts listTexts = new ListTexts();
    private final double[] room;
    private TokenBatch batch = TokenBatch.of(EncoderConfig.BATCH_TOKENS);
    /** Of the head's first layer, as many as a batch has sequences. */
    private final RowViews rows;
    /** By how many sequences there are: their indices. */
    private int[] @Nullable [] indices = {};

    private @Nullable Iterator<?> passages;
    private int index;
    /** Whether {@link #passage} waits for the next batch. */
    private boolean hasPassage;

    RerankRun(EncoderCore core, PairFormat format) {
        this.core = core;
        this.format = format;
        room = new double[core.model.config.dim()];
        rows = new RowViews(room.length);
    }

    /** Writes the outputs of all labels for each passage, row by row. */
    void run(String queryText, List<String> texts, int maxTokens, double[] outputs, IntConsumer progress) {
        core.requireOpen(); // here too, since without passages nothing is computed
        begin(queryText, texts, maxTokens);
        int labels = core.model.head().labels();
        int passageCount = outputs.length / labels;
        int done = 0;
        while (done < passageCount) {
            fill(maxTokens, passageCount);
            compute(outputs, done * labels);
            done += batch.sequences();
            progress.accept(done);
        }
    }

    private void begin(String queryText, List<String> texts, int maxTokens) {
        query.clear();
        core.tokenizer.append(queryText, query);
        index = 0;
        hasPassage = false;
        int most = Math.max(maxTokens, EncoderConfig.BATCH_TOKENS);
        if (batch.capacity() < most) {
            batch = TokenBatch.of(most);
        }
        if (texts instanceof RandomAccess) {
            listTexts.begin(texts);
            passages = listTexts;
        } else {
            passages = texts.iterator();
        }
    }

    /** Forgets the texts. */
    void finish() {
        query.clear();
        passage.clear();
        passages = null;
        listTexts.end();
    }

    private void fill(int maxTokens, int passageCount) {
        batch.clear();
        Iterator<?> source = Checks.notNull(passages, "passages");
        int most = maxTokens - format.added();
        while (hasPassage || index < passageCount) {
            if (!hasPassage) {
                open(source.next());
            }
            int first = PairTruncation.keptOfFirst(query.size(), passage.size(), most);
            int second = PairTruncation.keptOfSecond(query.size(), passage.size(), most);
            // not the capacity, which may be that of a view for longer texts
            if (batch.tokens() + first + second + format.added() > Math.max(maxTokens, EncoderConfig.BATCH_TOKENS)) {
                return;
            }
            format.add(batch, query, first, passage, second);
            hasPassage = false;
        }
    }

    private void open(@Nullable Object text) {
        if (!(text instanceof String plain)) {
            throw new NullPointerException("passage " + index + ": " + text + "; expected a text");
        }
        passage.clear();
        core.tokenizer.append(plain, passage);
        index++;
        hasPassage = true;
    }

    private void compute(double[] outputs, int at) {
        int labels = core.model.head().labels();
        int sequences = batch.sequences();
        Buffers buffers = core.take(batch.tokens());
        try {
            core.model.forward(core.cpu, batch, buffers);
            core.model.dense(core.cpu, pooled(buffers), rows.get(sequences), buffers);
        } finally {
            core.giveBack(buffers);
        }
        for (int i = 0; i < sequences; i++) {
            core.model.head().logits(rows.array(), i * room.length, room, outputs, at + i * labels);
        }
    }

    /** Returns the rows of states that the head reads, one for each sequence. */
    private int[] pooled(Buffers buffers) {
        if (!core.model.head().ofMean()) {
            return batch.firstRows();
        }
        ClassificationHead.writeMeans(batch, buffers, room);
        int count = batch.sequences();
        if (count >= indices.length) {
            indices = new int[2 * count + 1][];
        }
        int[] all = indices[count];
        if (all == null) {
            all = IntStream.range(0, count).toArray();
            indices[count] = all;
        }
        return all;
    }
}

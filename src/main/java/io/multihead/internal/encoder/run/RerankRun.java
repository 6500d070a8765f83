package io.multihead.internal.encoder.run;

import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.encoder.layer.RowViews;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.text.TokenBuffer;
import java.util.List;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** One pass over the passages of a query, which writes the outputs of all labels of the pairs, in the order of the passages. */
public final class RerankRun extends BatchRun {
    private static final double[] NONE = {};

    private final PairFormat format;
    private final TokenBuffer query = new TokenBuffer();
    private final double[] buffer;
    /** The outputs of the head's first layer, one row for each sequence of a batch. */
    private final RowViews rows;
    /** The indices of the sequences, by the number of sequences. */
    private int[] @Nullable [] indices = {};

    private double[] outputs = NONE;
    private int done;
    private int maxTokens;
    /** The numbers of tokens of the query and of the passage that remain. */
    private int keptOfQuery;

    private int keptOfPassage;

    public RerankRun(EncoderCore core, PairFormat format) {
        super(core);
        this.format = format;
        buffer = new double[core.model.config.dim()];
        rows = new RowViews(buffer.length);
    }

    /** Writes the outputs of all labels for each passage, row by row. */
    public void run(String queryText, List<String> passages, int maxTokensOfPair, double[] to, IntConsumer progress) {
        query.clear();
        core.tokenizer.append(queryText, query);
        outputs = to;
        done = 0;
        maxTokens = maxTokensOfPair;
        int count = to.length / core.model.head().labels();
        start(passages, count, maxTokens);
        while (done < count) {
            step();
            progress.accept(done);
        }
    }

    @Override
    public void clear() {
        super.clear();
        query.clear();
        outputs = NONE;
    }

    @Override
    protected void open(@Nullable Object text, long number) {
        core.tokenizer.append(requireText(text, "passage", number), tokens);
        int most = maxTokens - format.added();
        keptOfQuery = PairTruncation.keptOfFirst(query.size(), tokens.size(), most);
        keptOfPassage = PairTruncation.keptOfSecond(query.size(), tokens.size(), most);
    }

    @Override
    protected int length() {
        return keptOfQuery + keptOfPassage + format.added();
    }

    @Override
    protected boolean add(TokenBatch to) {
        format.add(to, query, keptOfQuery, tokens, keptOfPassage);
        return false;
    }

    @Override
    protected void read(TokenBatch of, Buffers states) {
        core.model.transformer.logits(core.cpu, pooled(of, states), rows.get(of.sequences()), states);
    }

    @Override
    protected void finish(TokenBatch of) {
        int labels = core.model.head().labels();
        for (int i = 0; i < of.sequences(); i++) {
            core.model.head().logits(rows.array(), i * buffer.length, buffer, outputs, (done + i) * labels);
        }
        done += of.sequences();
    }

    /** Returns the rows of states that the head reads, one for each sequence. */
    private int[] pooled(TokenBatch of, Buffers states) {
        if (!core.model.head().ofMean()) {
            return of.firstRows();
        }
        ClassificationHead.writeMeans(of, states, buffer);
        int count = of.sequences();
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

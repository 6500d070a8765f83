package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.layer.DenseRun;
import io.multihead.internal.encoder.layer.Pooler;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.run.BatchRun;
import io.multihead.internal.encoder.run.TextParts;
import io.multihead.internal.encoder.run.VectorSink;
import io.multihead.internal.encoder.run.Vectors;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One pass over texts or over sequences of token ids. It returns their vectors in the same order. */
final class EmbeddingRun extends BatchRun {
    private Pooler pooler;
    private final DenseLayers dense;
    private final DenseRun denseRows;
    /** A row of the last dense layer. */
    private final double[] row;

    private final TextParts parts = new TextParts();
    private final Vectors vectors = new Vectors();
    private VectorSink sink = vectors;
    private @Nullable EncoderOptions options;
    /** The next part of a text: tokens from {@link #from} (inclusive) to {@link #part} (exclusive), of the tokens up to {@link #end}. */
    private int from;

    private int part;
    private int end;
    /** The number of tokens that pooling ignores at the start of each text, if texts have a prompt. */
    private int prompt;

    private boolean hasPrompt;
    /** The number of texts of a batch whose vectors wait for the dense layers. */
    private int waiting;

    EmbeddingRun(EncoderCore core, DenseLayers dense) {
        super(core);
        this.dense = dense;
        this.denseRows = new DenseRun(dense);
        this.row = new double[dense.outputs()];
        this.pooler = new Pooler(core.model.config.dim(), 1);
    }

    void begin(EncoderOptions newOptions, List<?> newTexts) {
        vectors.begin(newTexts.size());
        prepare(newOptions);
        start(newTexts, UNKNOWN, mostTokens(newOptions));
    }

    void begin(EncoderOptions newOptions, Iterator<?> newTexts) {
        prepare(newOptions);
        start(newTexts, UNKNOWN, mostTokens(newOptions));
    }

    /**
     * Returns the largest number of tokens of a part of a text, including the special tokens around it. It is a constant for static embeddings,
     * because their texts may be divided at any token.
     */
    private int mostTokens(EncoderOptions how) {
        return core.model.config.isStatic() ? EncoderConfig.BATCH_TOKENS : how.maxTokens();
    }

    private void prepare(EncoderOptions newOptions) {
        options = newOptions;
        prompt = ignoredOfPrompt(newOptions);
        int modes = newOptions.pooling().modes().size();
        if (pooler.modes() != modes) {
            pooler = new Pooler(core.model.config.dim(), modes);
        }
        pooler.clear();
    }

    /** Returns a receiver that collects vectors in a list. */
    Vectors vectors() {
        return vectors;
    }

    /**
     * Returns the number of tokens that pooling ignores at the start of each text: {@code [CLS]} and the tokens of the prompt, as far as they
     * fit.
     */
    private int ignoredOfPrompt(EncoderOptions how) {
        boolean counts = how.pooling().includesPrompt() || how.prompt().isEmpty();
        int tokens = counts ? 1 : core.tokenizer.count(how.prompt()) + core.tokenizer.specialTokenCount();
        return Math.min(tokens, how.maxTokens()) - 1;
    }

    @Override
    public void clear() {
        super.clear();
        options = null;
        sink = vectors;
        vectors.end();
    }

    /** Computes one batch, whose vectors go to a receiver, and returns false if no text is left. */
    boolean step(VectorSink to) {
        sink = to;
        return step();
    }

    private EncoderOptions how() {
        return Checks.notNull(options, "options");
    }

    @Override
    protected void read(TokenBatch of, Buffers states) {
        if (!dense.isEmpty()) {
            waiting = poolForDense(of, states);
            return;
        }
        for (int i = 0; i < of.sequences(); i++) {
            pool(of, states, i);
            TextParts.Part last = parts.get(i);
            if (last.isLast) {
                sink.accept(pooler.result(how().normalization(), how().dimension()), last.textTokens, last.ignored);
            }
        }
    }

    private void pool(TokenBatch of, Buffers states, int sequence) {
        TextParts.Part own = parts.get(sequence);
        int first = of.start(sequence);
        // the end is computed, because another token represents a sequence without tokens
        int last = first + own.tokens + core.tokenizer.specialTokenCount();
        pooler.add(how().pooling().modes(), states, first, last, own.prompt, own.tokens);
    }

    /** Returns the number of texts that end in the batch. Their vectors wait for the dense layers. */
    private int poolForDense(TokenBatch of, Buffers states) {
        float[] input = denseRows.input(of.sequences());
        int texts = 0;
        for (int i = 0; i < of.sequences(); i++) {
            pool(of, states, i);
            if (parts.get(i).isLast) {
                pooler.write(input, texts * dense.inputs());
                texts++;
            }
        }
        return texts;
    }

    /** Computes the dense layers, if there are any, for the texts that end in a batch, as one product. */
    @Override
    protected void finish(TokenBatch of) {
        if (dense.isEmpty()) {
            return;
        }
        EncoderOptions how = how();
        float[] rows = denseRows.forward(core.cpu, waiting);
        int text = 0;
        for (int i = 0; i < of.sequences(); i++) {
            TextParts.Part last = parts.get(i);
            if (last.isLast) {
                for (int k = 0; k < row.length; k++) {
                    row[k] = rows[text * row.length + k];
                }
                sink.accept(how.normalization().apply(row, how.dimension()), last.textTokens, last.ignored);
                text++;
            }
        }
    }

    @Override
    protected void open(@Nullable Object text, long number) {
        EncoderOptions how = how();
        switch (text) {
            case String plain -> {
                hasPrompt = true;
                core.tokenizer.append(how.prompt().isEmpty() ? plain : how.prompt() + plain, tokens);
            }
            case int[] ids -> {
                hasPrompt = false;
                open(ids, number);
            }
            case null, default ->
                Checks.notNull(null, "text " + number); // checked here, so that no name is created for valid texts
        }
        int most = how.maxTokens() - core.tokenizer.specialTokenCount();
        if (how.longTexts() == LongTexts.FAIL && tokens.size() > most) {
            throw Checks.fail(
                    "text " + number,
                    core.tokenizer.specialTokenCount() + tokens.size() + " tokens",
                    "expected at most " + how.maxTokens() + ", or another treatment of long texts");
        }
        end = how.longTexts() == LongTexts.TRUNCATE ? Math.min(tokens.size(), most) : tokens.size();
        from = 0;
        part = partEnd();
    }

    private void open(int[] ids, long number) {
        try {
            core.tokenizer.append(ids, tokens);
        } catch (IllegalArgumentException wrong) {
            // not Checks.in, which would create a name for each text
            throw new IllegalArgumentException("text " + number + ": " + wrong.getMessage(), wrong);
        }
    }

    /** Returns the end of the next part: the end of a word, unless the word itself is longer than a part. */
    private int partEnd() {
        int most = Math.min(end, from + mostTokens(how()) - core.tokenizer.specialTokenCount());
        int last = most;
        while (last < end && last > from && tokens.continuesWord(last)) {
            last--;
        }
        return last == from ? most : last;
    }

    @Override
    protected int length() {
        return Math.max(1, part - from + core.tokenizer.specialTokenCount());
    }

    @Override
    protected boolean add(TokenBatch to) {
        TextParts.Part added = parts.get(to.sequences());
        addTokens(to, from, part);
        added.tokens = part - from;
        // the last token of a part is always included; a prompt precedes the first part
        added.prompt = from == 0 && hasPrompt ? Math.min(prompt, added.tokens + 1) : 0;
        added.isLast = part == end;
        added.textTokens = tokens.size();
        added.ignored = tokens.size() - end;
        from = part;
        part = partEnd();
        return from < end;
    }
}

package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.text.TokenBuffer;
import java.util.Iterator;
import java.util.List;
import java.util.RandomAccess;
import org.jspecify.annotations.Nullable;

/**
 * One pass over texts, or over token ids in their place: fills batches with their parts, computes them, and hands out the vectors in the
 * order of the texts. Reused for the next pass; for one caller at a time.
 */
final class EmbeddingRun {
    private final EncoderCore core;
    private final TokenBuffer tokens = new TokenBuffer();
    private Pooler pooler;
    private final DenseRun dense;
    /** A row of the last dense layer. */
    private final double[] row;

    private TokenBatch batch = TokenBatch.of(EncoderConfig.BATCH_TOKENS);
    private final TextParts parts = new TextParts();
    private final ListTexts listTexts = new ListTexts();
    private final Vectors vectors = new Vectors();
    private @Nullable EncoderOptions options;
    private @Nullable Iterator<?> texts;
    private long index;
    /** Whether {@link #tokens} are those of a text with tokens still to come: {@link #from} (inclusive) to {@link #end} (exclusive). */
    private boolean hasText;

    private int from;
    private int end;
    /** Tokens in front of each text that pooling ignores, where texts have a prompt. */
    private int prompt;

    private boolean hasPrompt;

    EmbeddingRun(EncoderCore core, DenseLayers dense) {
        this.core = core;
        this.dense = new DenseRun(dense);
        this.row = new double[dense.outputs()];
        this.pooler = new Pooler(core.model.config.dim(), 1);
    }

    /** Begins with texts that are read by their index where the list can do that. */
    void begin(EncoderOptions newOptions, List<?> newTexts) {
        vectors.begin(newTexts.size());
        if (newTexts instanceof RandomAccess) {
            listTexts.begin(newTexts);
            begin(newOptions, listTexts);
        } else {
            begin(newOptions, newTexts.iterator());
        }
    }

    /** Returns where vectors of a list are collected. */
    Vectors vectors() {
        return vectors;
    }

    void begin(EncoderOptions newOptions, Iterator<?> newTexts) {
        options = newOptions;
        texts = newTexts;
        index = 0;
        hasText = false;
        prompt = ignoredOfPrompt(newOptions);
        int modes = newOptions.pooling().modes().size();
        if (pooler.modes() != modes) {
            pooler = new Pooler(core.model.config.dim(), modes);
        }
        pooler.clear();
        batch.clear();
        if (batch.capacity() < newOptions.batchTokens()) {
            batch = TokenBatch.of(newOptions.batchTokens());
        }
    }

    /** Returns how many tokens in front of each text pooling ignores: {@code [CLS]} and the prompt, as far as there is room for it. */
    private int ignoredOfPrompt(EncoderOptions how) {
        boolean counts = how.pooling().includesPrompt() || how.prompt().isEmpty();
        return counts ? 0 : Math.min(core.tokenizer.count(how.prompt()), how.maxTokens()) - 1;
    }

    /** Forgets the texts. */
    void forget() {
        tokens.clear();
        options = null;
        texts = null;
        listTexts.end();
        vectors.end();
    }

    /** Computes one batch, and returns false where no text is left. */
    boolean step(VectorSink sink) {
        core.requireOpen(); // here too, since without texts no results are taken
        EncoderOptions how = Checks.notNull(options, "options");
        fill(how, Checks.notNull(texts, "texts"));
        if (batch.sequences() == 0) {
            return false;
        }
        int waiting;
        Buffers buffers = core.take(batch.tokens());
        try {
            core.model.forward(core.cpu, batch, buffers);
            if (dense.isEmpty()) {
                pool(how, buffers, sink);
                return true;
            }
            waiting = poolForDense(how, buffers);
        } finally {
            core.giveBack(buffers);
        }
        finish(how, waiting, sink);
        return true;
    }

    private void add(EncoderOptions how, Buffers buffers, int sequence) {
        pooler.add(
                how.pooling().modes(),
                buffers,
                batch.start(sequence),
                batch.start(sequence + 1),
                parts.prompt(sequence),
                parts.tokens(sequence));
    }

    private void pool(EncoderOptions how, Buffers buffers, VectorSink sink) {
        for (int i = 0; i < batch.sequences(); i++) {
            add(how, buffers, i);
            if (parts.isLast(i)) {
                sink.accept(pooler.result(how), parts.textTokens(i), parts.ignored(i));
            }
        }
    }

    /** Returns how many texts the batch ends, whose vectors wait for the dense layers. */
    private int poolForDense(EncoderOptions how, Buffers buffers) {
        float[] input = dense.input(batch.sequences());
        int texts = 0;
        for (int i = 0; i < batch.sequences(); i++) {
            add(how, buffers, i);
            if (parts.isLast(i)) {
                pooler.write(input, texts * dense.inputs());
                texts++;
            }
        }
        return texts;
    }

    /** Computes the dense layers for the texts that a batch ends, all at once. */
    private void finish(EncoderOptions how, int texts, VectorSink sink) {
        float[] rows = dense.forward(core.cpu, texts);
        int text = 0;
        for (int i = 0; i < batch.sequences(); i++) {
            if (parts.isLast(i)) {
                for (int k = 0; k < row.length; k++) {
                    row[k] = rows[text * row.length + k];
                }
                sink.accept(how.normalization().apply(row, how.dimension()), parts.textTokens(i), parts.ignored(i));
                text++;
            }
        }
    }

    private void fill(EncoderOptions how, Iterator<?> source) {
        batch.clear();
        while (hasText || source.hasNext()) {
            if (!hasText) {
                open(how, source.next());
            }
            int part = partEnd(how.maxTokens() - 2);
            // not the capacity, which may be that of a view for longer texts
            if (batch.tokens() + part - from + 2 > how.batchTokens()) {
                return;
            }
            append(part);
        }
    }

    private void open(EncoderOptions how, @Nullable Object text) {
        tokens.clear();
        switch (text) {
            case String plain -> {
                hasPrompt = true;
                core.tokenizer.append(how.prompt().isEmpty() ? plain : how.prompt() + plain, tokens);
            }
            case int[] ids -> {
                hasPrompt = false;
                open(ids);
            }
            case null, default ->
                Checks.notNull(null, "text " + index); // here, so that no name is made for other texts
        }
        int room = how.maxTokens() - 2;
        if (how.longTexts() == LongTexts.FAIL && tokens.size() > room) {
            throw Checks.fail(
                    "text " + index,
                    (tokens.size() + 2) + " tokens",
                    "expected at most " + how.maxTokens() + ", or another way with long texts");
        }
        from = 0;
        end = how.longTexts() == LongTexts.TRUNCATE ? Math.min(tokens.size(), room) : tokens.size();
        index++;
        hasText = true;
    }

    private void open(int[] ids) {
        try {
            core.tokenizer.append(ids, tokens);
        } catch (IllegalArgumentException wrong) {
            // not Checks.in, which would make a name for each text
            throw new IllegalArgumentException("text " + index + ": " + wrong.getMessage(), wrong);
        }
    }

    /** Returns where the next part ends: at the end of a word, unless the word alone is longer than a part. */
    private int partEnd(int room) {
        int most = Math.min(end, from + room);
        int part = most;
        while (part < end && part > from && tokens.continuesWord(part)) {
            part--;
        }
        return part == from ? most : part;
    }

    private void append(int part) {
        int i = batch.sequences();
        batch.begin();
        batch.add(core.tokenizer.firstToken());
        for (int token = from; token < part; token++) {
            batch.add(tokens.id(token));
        }
        batch.add(core.tokenizer.lastToken());
        // the last token of a part always counts; a prompt is in front of the first part
        parts.put(i, part - from, from == 0 && hasPrompt ? Math.min(prompt, part - from + 1) : 0);
        parts.putText(i, part == end, tokens.size(), tokens.size() - end);
        from = part;
        hasText = part < end;
    }
}

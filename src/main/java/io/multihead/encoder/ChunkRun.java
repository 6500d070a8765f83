package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.layer.DenseRun;
import io.multihead.internal.encoder.layer.Pooler;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.run.BatchRun;
import io.multihead.model.Buffers;
import io.multihead.model.Pooling;
import io.multihead.model.TokenBatch;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One pass over a text. It computes a vector for each part of the text: the mean of the states of the part's tokens. */
final class ChunkRun extends BatchRun {
    private static final List<Pooling> MEAN = List.of(Pooling.MEAN);

    private final EncoderOptions options;
    private final DenseLayers dense;
    private final List<String> chunks;
    /** The index of the first token of each part, and the end of the last part. */
    private final int[] borders;

    private final Pooler pooler;
    private final DenseRun denseRows;
    private final float[][] vectors;

    ChunkRun(EncoderCore core, DenseLayers dense, EncoderOptions options, List<String> chunks) {
        super(core);
        this.options = options;
        this.dense = dense;
        this.chunks = chunks;
        borders = new int[chunks.size() + 1];
        pooler = new Pooler(core.model.config.dim(), 1);
        denseRows = new DenseRun(dense);
        vectors = new float[chunks.size()][];
    }

    float[][] run() {
        start(List.of(options.prompt() + String.join("", chunks)), 1, options.maxTokens());
        while (step()) {
            // there is one text, and therefore one batch
        }
        return vectors;
    }

    @Override
    protected void open(@Nullable Object text, long number) {
        core.tokenizer.append(requireText(text, "text", number), tokens);
        int around = core.tokenizer.specialTokenCount();
        if (tokens.size() + around > options.maxTokens()) {
            throw Checks.fail(
                    "chunks",
                    tokens.size() + around + " tokens",
                    "expected at most " + options.maxTokens() + ", as parts of a text that is read as a whole");
        }
        int end = options.prompt().length();
        int token = 0;
        for (int i = 0; i <= chunks.size(); i++) {
            while (token < tokens.size() && tokens.end(token) <= end && end > 0) {
                token++;
            }
            borders[i] = token;
            if (i > 0 && token == borders[i - 1]) {
                throw Checks.fail("chunks[" + (i - 1) + "]", "no token", "expected at least one token for each chunk");
            }
            end += i < chunks.size() ? chunks.get(i).length() : 0;
        }
    }

    @Override
    protected int length() {
        return tokens.size() + core.tokenizer.specialTokenCount();
    }

    @Override
    protected boolean add(TokenBatch to) {
        addTokens(to, 0, tokens.size());
        return false;
    }

    @Override
    protected void read(TokenBatch of, Buffers states) {
        int first = core.tokenizer.specialTokenCount() > 0 ? 1 : 0;
        float[] input = dense.isEmpty() ? new float[0] : denseRows.input(vectors.length);
        for (int i = 0; i < vectors.length; i++) {
            int count = borders[i + 1] - borders[i];
            pooler.add(MEAN, states, first + borders[i], first + borders[i + 1], 0, count);
            if (dense.isEmpty()) {
                vectors[i] = pooler.result(options.normalization(), options.dimension());
            } else {
                pooler.write(input, i * dense.inputs());
            }
        }
    }

    @Override
    protected void finish(TokenBatch of) {
        if (dense.isEmpty()) {
            return;
        }
        float[] rows = denseRows.forward(core.cpu, vectors.length);
        double[] row = new double[dense.outputs()];
        for (int i = 0; i < vectors.length; i++) {
            for (int k = 0; k < row.length; k++) {
                row[k] = rows[i * row.length + k];
            }
            vectors[i] = options.normalization().apply(row, options.dimension());
        }
    }
}

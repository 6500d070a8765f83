package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.layer.Normalization;
import io.multihead.internal.encoder.layer.RowViews;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.run.BatchRun;
import io.multihead.internal.encoder.run.TokenFormat;
import io.multihead.internal.encoder.run.Vectors;
import io.multihead.model.Buffers;
import io.multihead.model.PackedLinear;
import io.multihead.model.TokenBatch;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One pass over texts. It projects the states of tokens, and collects vectors of length 1. An object serves one call. */
final class TokenRun extends BatchRun {
    private final PackedLinear projection;
    private final TokenFormat format;
    private final int dimension;
    private final RowViews projected;
    /** Whether each token of the batch has a vector. */
    private final boolean[] hasVector;

    private float[] vectors = {};
    private int count;
    private long[] offsets = {};
    private int done;

    TokenRun(EncoderCore core, PackedLinear projection, TokenFormat format) {
        super(core);
        this.projection = projection;
        this.format = format;
        int most = Math.max(format.most(), EncoderConfig.BATCH_TOKENS);
        hasVector = new boolean[most];
        dimension = projection.outputs();
        projected = new RowViews(dimension).of(most);
    }

    TokenVectors run(List<String> texts) {
        offsets = new long[texts.size() + 1];
        start(texts, offsets.length - 1L, format.most());
        while (done < offsets.length - 1) {
            step();
        }
        return new TokenVectors(Arrays.copyOf(vectors, count * dimension), dimension, offsets);
    }

    @Override
    protected void open(@Nullable Object text, long number) {
        core.tokenizer.append(requireText(text, "text", number), tokens);
    }

    @Override
    protected int length() {
        return format.length(tokens);
    }

    @Override
    protected boolean add(TokenBatch to) {
        format.add(to, tokens, hasVector);
        return false;
    }

    @Override
    protected void read(TokenBatch of, Buffers states) {
        projection.forward(core.cpu, states.states(), projected.get(of.tokens()));
    }

    @Override
    protected void finish(TokenBatch of) {
        for (int i = 0; i < of.sequences(); i++) {
            for (int token = of.start(i); token < of.start(i + 1); token++) {
                if (hasVector[token]) {
                    collect(token * dimension);
                }
            }
            done++;
            offsets[done] = count;
        }
    }

    private void collect(int at) {
        int to = Checks.product("vectors", count + 1L, dimension) - dimension;
        if (to + dimension > vectors.length) {
            vectors = Arrays.copyOf(vectors, (int) Math.min(2L * to + 64L * dimension, Checks.MAX_ARRAY_LENGTH));
        }
        float[] from = projected.array();
        double squares = 0;
        for (int i = 0; i < dimension; i++) {
            squares += (double) from[at + i] * from[at + i];
        }
        Vectors.requireFinite(squares, "text", done);
        double norm = Math.max(Math.sqrt(squares), Normalization.LEAST_NORM);
        for (int i = 0; i < dimension; i++) {
            vectors[to + i] = (float) (from[at + i] / norm);
        }
        count++;
    }
}

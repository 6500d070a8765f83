package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.model.Buffers;
import io.multihead.model.PackedLinear;
import io.multihead.model.TokenBatch;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.text.TokenBuffer;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One pass over texts: fills batches, computes and projects states, and collects vectors of length 1. For one call. */
final class TokenRun {
    /** As PyTorch's {@code normalize}: shorter vectors keep their direction and stay short. */
    private static final double LEAST_NORM = 1e-12;

    private final EncoderCore core;
    private final PackedLinear projection;
    private final TokenFormat format;
    private final TokenBuffer text = new TokenBuffer();
    private final TokenBatch batch;
    private final int dimension;
    private final float[] projected;
    /** Whether each token of the batch has a vector. */
    private final boolean[] hasVector;

    private float[] vectors;
    private int count;

    TokenRun(EncoderCore core, PackedLinear projection, TokenFormat format) {
        this.core = core;
        this.projection = projection;
        this.format = format;
        int most = Math.max(format.most(), EncoderConfig.BATCH_TOKENS);
        batch = TokenBatch.of(most);
        hasVector = new boolean[most];
        dimension = projection.outputs();
        projected = new float[Checks.product("tokens x dimension", most, dimension)];
        vectors = new float[0];
    }

    TokenVectors run(List<String> texts) {
        core.requireOpen();
        long[] offsets = new long[texts.size() + 1];
        int done = 0;
        boolean waits = false;
        for (int next = 0; done < texts.size(); ) {
            batch.clear();
            while (waits || next < texts.size()) {
                if (!waits) {
                    open(texts.get(next), next);
                    next++;
                }
                waits = batch.tokens() + format.length(text) > batch.capacity();
                if (waits) {
                    break;
                }
                format.add(batch, text, hasVector);
            }
            compute(offsets, done);
            done += batch.sequences();
        }
        return new TokenVectors(Arrays.copyOf(vectors, count * dimension), dimension, offsets);
    }

    private void open(@Nullable String plain, int index) {
        if (plain == null) {
            throw new NullPointerException("text " + index + ": null; expected a text");
        }
        text.clear();
        core.tokenizer.append(plain, text);
    }

    private void compute(long[] offsets, int done) {
        Buffers buffers = core.take(batch.tokens());
        try {
            core.model.forward(core.cpu, batch, buffers);
            MemorySegment memory = MemorySegment.ofArray(projected);
            Tensor to = Tensor.view(
                    memory.asSlice(0, (long) Float.BYTES * batch.tokens() * dimension),
                    DType.F32,
                    Shape.of(batch.tokens(), dimension));
            projection.forward(core.cpu, buffers.states(), to);
        } finally {
            core.giveBack(buffers);
        }
        for (int i = 0; i < batch.sequences(); i++) {
            for (int token = batch.start(i); token < batch.start(i + 1); token++) {
                if (hasVector[token]) {
                    collect(token * dimension);
                }
            }
            offsets[done + i + 1] = count;
        }
    }

    private void collect(int at) {
        int to = Checks.product("vectors", count + 1L, dimension) - dimension;
        if (to + dimension > vectors.length) {
            vectors = Arrays.copyOf(vectors, (int) Math.min(2L * to + 64L * dimension, Checks.MAX_ARRAY_LENGTH));
        }
        double squares = 0;
        for (int i = 0; i < dimension; i++) {
            squares += (double) projected[at + i] * projected[at + i];
        }
        double norm = Math.max(Math.sqrt(squares), LEAST_NORM);
        for (int i = 0; i < dimension; i++) {
            vectors[to + i] = (float) (projected[at + i] / norm);
        }
        count++;
    }
}

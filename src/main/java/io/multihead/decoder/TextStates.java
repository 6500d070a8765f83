package io.multihead.decoder;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.SequenceCache;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.model.Buffers;
import io.multihead.model.Pooling;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Computes the pooled states of texts, in batches. Thread-safe; one call computes at a time, with scratch memory that is reused. */
final class TextStates {
    /** The number of tokens of a batch, unless one text has more. The larger scratch memory of such a text is not kept. */
    private static final int BATCH_TOKENS = 512;

    /** The number of tokens of a page of a cache. */
    private static final int PAGE = 64;

    /** The number of states that are normalized together. */
    private static final int ROWS = 64;

    /**
     * A model with the frequencies of rotary positions for texts of any length, and the same weights with the frequencies for short texts,
     * as in LongRoPE. In other families, both are the same model.
     *
     * @param shortTokens the largest number of tokens of a short text
     */
    record Models(Transformer any, Transformer brief, int shortTokens) {
        Transformer of(int tokens) {
            return tokens <= shortTokens ? brief : any;
        }
    }

    /** Scratch memory of a batch. */
    private record BatchMemory(
            TokenBatch batch, Buffers buffers, @Nullable SequenceCache cache) {
        /** A model whose layers share keys has a cache, which is empty between batches. */
        static BatchMemory of(Transformer model, int tokens) {
            if (!model.sharesStates()) {
                return new BatchMemory(TokenBatch.of(tokens), model.buffers(tokens), null);
            }
            long pages = (long) tokens * PAGE; // each text may have only one token
            SequenceCache cache = model.cache(Arena.ofAuto(), CacheFormat.F32, pages);
            return new BatchMemory(TokenBatch.of(cache, tokens), model.buffers(tokens), cache);
        }

        void begin() {
            if (cache == null) {
                batch.begin();
            } else {
                batch.begin(cache.open());
            }
        }

        void end() {
            for (int sequence = batch.sequences() - 1; cache != null && sequence >= 0; sequence--) {
                cache.close(sequence);
            }
        }
    }

    private final Models models;
    private final ReentrantLock turn = new ReentrantLock();
    private @Nullable BatchMemory kept;
    private float @Nullable [] normalized;

    TextStates(Models models) {
        this.models = models;
    }

    /** Returns the number of elements of a state. */
    int dim() {
        return models.any().dim();
    }

    /** Computes a vector of each text. Each text has at least one token. Sums are in double, in the order of tokens. */
    double[][] embed(Compute cpu, List<int[]> texts, Pooling pooling) {
        double[][] vectors = new double[texts.size()][dim()];
        int longest = texts.stream().mapToInt(text -> text.length).max().orElse(1);
        turn.lock();
        try {
            BatchMemory memory = memory(longest);
            for (int first = 0; first < texts.size(); ) {
                Checks.notInterrupted("embedder");
                first = embed(cpu, texts, first, memory, pooling, vectors);
            }
        } finally {
            turn.unlock();
        }
        return vectors;
    }

    /**
     * Computes the means of the states of consecutive parts of one text. Part {@code i} has the tokens from {@code borders[i]} to before
     * {@code borders[i + 1]}.
     */
    double[][] means(Compute cpu, int[] text, int[] borders) {
        double[][] vectors = new double[borders.length - 1][dim()];
        Transformer model = models.of(text.length);
        turn.lock();
        try {
            Checks.notInterrupted("embedder");
            BatchMemory memory = memory(text.length);
            memory.batch.clear();
            memory.begin();
            for (int id : text) {
                memory.batch.add(id);
            }
            try {
                model.forward(cpu, memory.batch, memory.buffers);
            } finally {
                memory.end();
            }
            for (int i = 0; i < vectors.length; i++) {
                add(cpu, model, memory, borders[i], borders[i + 1], vectors[i]);
            }
        } finally {
            turn.unlock();
        }
        return vectors;
    }

    private BatchMemory memory(int longest) {
        if (longest > BATCH_TOKENS) {
            return BatchMemory.of(models.any(), longest);
        }
        BatchMemory memory = kept == null ? BatchMemory.of(models.any(), BATCH_TOKENS) : kept;
        kept = memory;
        return memory;
    }

    /** Computes as many texts of one model as a batch holds, from a given text on, and returns the next text. */
    private int embed(
            Compute cpu, List<int[]> texts, int first, BatchMemory memory, Pooling pooling, double[][] vectors) {
        TokenBatch batch = memory.batch;
        batch.clear();
        int next = first;
        Transformer model = models.of(texts.get(first).length);
        while (next < texts.size()
                && models.of(texts.get(next).length) == model
                && batch.tokens() + texts.get(next).length <= batch.capacity()) {
            memory.begin();
            for (int id : texts.get(next)) {
                batch.add(id);
            }
            next++;
        }
        try {
            model.forward(cpu, batch, memory.buffers);
        } finally {
            memory.end();
        }
        for (int text = first; text < next; text++) {
            int start = batch.start(text - first);
            int end = start + texts.get(text).length;
            int from = pooling == Pooling.LAST ? end - 1 : start;
            add(cpu, model, memory, from, pooling == Pooling.CLS ? start + 1 : end, vectors[text]);
        }
        return next;
    }

    /** Writes the mean of some tokens' normalized states. */
    private void add(Compute cpu, Transformer model, BatchMemory memory, int from, int to, double[] mean) {
        int dim = dim();
        float[] states = normalized == null ? new float[ROWS * dim] : normalized;
        normalized = states;
        for (int row = from; row < to; row += ROWS) {
            int count = Math.min(ROWS, to - row);
            int[] rows = new int[count];
            int begin = row;
            Arrays.setAll(rows, i -> begin + i);
            Tensor outputs = Tensor.view(MemorySegment.ofArray(states), DType.F32, Shape.of(count, dim));
            model.outputs(cpu, rows, outputs, memory.buffers);
            for (int i = 0; i < count * dim; i++) {
                mean[i % dim] += states[i];
            }
        }
        for (int i = 0; i < dim; i++) {
            mean[i] /= to - from;
        }
    }
}

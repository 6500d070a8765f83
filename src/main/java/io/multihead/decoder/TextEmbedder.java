package io.multihead.decoder;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import io.multihead.text.Tokenizer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

/**
 * Vectors of texts by a language model, such as Qwen3-Embedding (Zhang et al. 2025): the states of a text's tokens after the final
 * normalisation become one vector.
 *
 * <p>Texts get the tokens that the model's file puts around them, among them the end token that such models expect. A vector has the same
 * bits alone and in any batch, and on any number of threads. Thread-safe; one call computes at a time. Belongs to its model, with whose
 * {@link LanguageModel#close} it ends.
 */
public final class TextEmbedder {
    /** Tokens of a batch, unless one text has more. */
    private static final int BATCH_TOKENS = 512;

    /** How the states of tokens become one vector. */
    public enum Pooling {
        /** The state of the last token, which alone has seen all others. */
        LAST,
        /** The mean of all states. */
        MEAN
    }

    /**
     * A model with the frequencies of rotary positions for texts of any length, and the same weights with those for short texts, as LongRoPE
     * has them; two names for one model in other families.
     *
     * @param shortTokens most tokens of a short text
     */
    record Models(Transformer any, Transformer brief, int shortTokens) {
        Transformer of(int tokens) {
            return tokens <= shortTokens ? brief : any;
        }
    }

    private final Compute cpu;
    private final Models models;
    private final Tokenizer tokenizer;
    private final int mostTokens;
    private final Pooling pooling;
    private final boolean normalised;
    private final ReentrantLock turn = new ReentrantLock();

    TextEmbedder(Compute cpu, Models models, Tokenizer tokenizer, int mostTokens, Pooling pooling, boolean normalised) {
        this.cpu = cpu;
        this.models = models;
        this.tokenizer = tokenizer;
        this.mostTokens = mostTokens;
        this.pooling = pooling;
        this.normalised = normalised;
    }

    /**
     * {@return an embedder of the same model with another way from states to a vector}
     *
     * @param newPooling the way
     */
    public TextEmbedder withPooling(Pooling newPooling) {
        return new TextEmbedder(cpu, models, tokenizer, mostTokens, Checks.notNull(newPooling, "pooling"), normalised);
    }

    /**
     * {@return an embedder of the same model with vectors of length 1, or as they are}
     *
     * @param newNormalised whether vectors have length 1
     */
    public TextEmbedder withNormalization(boolean newNormalised) {
        return new TextEmbedder(cpu, models, tokenizer, mostTokens, pooling, newNormalised);
    }

    /**
     * {@return the elements of a vector}
     */
    public int dimension() {
        return models.any().dim();
    }

    /**
     * Computes the vector of a text.
     *
     * @param text any text that has a token
     * @return a new array
     * @throws IllegalArgumentException if the text has no token, or more than the model's context
     */
    public float[] embed(String text) {
        return embed(List.of(Checks.notNull(text, "text")))[0];
    }

    /**
     * Computes the vectors of texts, in batches.
     *
     * @param texts any texts that have a token each
     * @return a new array for each text
     * @throws IllegalArgumentException if a text has no token, or more than the model's context; none is computed then
     */
    public float[][] embed(List<String> texts) {
        List<int[]> all = new ArrayList<>();
        int longest = 1;
        for (String text : Checks.noNulls(texts, "texts")) {
            int[] ids = tokenizer.withEnds(tokenizer.encode(text));
            if (ids.length == 0 || ids.length > mostTokens) {
                throw Checks.fail(
                        "texts[" + all.size() + "]",
                        ids.length + " tokens",
                        "expected 1 to the context of " + mostTokens);
            }
            longest = Math.max(longest, ids.length);
            all.add(ids);
        }
        float[][] vectors = new float[all.size()][];
        turn.lock();
        try {
            int capacity = Math.max(BATCH_TOKENS, longest);
            TokenBatch batch = TokenBatch.of(capacity);
            Buffers buffers = models.any().buffers(capacity);
            for (int first = 0; first < all.size(); ) {
                first = embed(all, first, batch, buffers, vectors);
            }
        } finally {
            turn.unlock();
        }
        return vectors;
    }

    /** Computes as many texts of one model as a batch holds, from one on, and returns the next. */
    private int embed(List<int[]> all, int first, TokenBatch batch, Buffers buffers, float[][] vectors) {
        batch.clear();
        int next = first;
        Transformer model = models.of(all.get(first).length);
        while (next < all.size()
                && models.of(all.get(next).length) == model
                && batch.tokens() + all.get(next).length <= batch.capacity()) {
            batch.begin();
            for (int id : all.get(next)) {
                batch.add(id);
            }
            next++;
        }
        model.forward(cpu, batch, buffers);
        int[] rows = pooling == Pooling.LAST
                ? batch.lastRows()
                : IntStream.range(0, batch.tokens()).toArray();
        Tensor states = Tensor.of(new float[rows.length * dimension()], rows.length, dimension());
        model.outputs(cpu, rows, states, buffers);
        for (int text = first; text < next; text++) {
            int from = pooling == Pooling.LAST ? text - first : batch.start(text - first);
            int count = pooling == Pooling.LAST ? 1 : all.get(text).length;
            vectors[text] = vector(states.slice(0, from, from + count));
        }
        return next;
    }

    /** Returns the mean of rows, divided by its length where vectors have length 1; sums are in double. */
    private float[] vector(Tensor states) {
        float[] rows = states.toArray();
        int count = (int) states.dim(0);
        double[] mean = new double[dimension()];
        double squares = 0;
        for (int i = 0; i < mean.length; i++) {
            for (int row = 0; row < count; row++) {
                mean[i] += rows[row * mean.length + i];
            }
            mean[i] /= count;
            squares += mean[i] * mean[i];
        }
        double length = normalised && squares > 0 ? Math.sqrt(squares) : 1;
        float[] vector = new float[mean.length];
        for (int i = 0; i < mean.length; i++) {
            vector[i] = (float) (mean[i] / length);
        }
        return vector;
    }
}

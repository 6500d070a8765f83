package io.multihead.decoder;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Softmax;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Philox;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.BitSet;

/**
 * Chooses tokens from rows of logits, as {@link Sampling} says. Its arrays are reused, so that a call allocates nothing. For one session
 * at a time.
 */
final class Sampler {
    /** The JDK's {@code Random.nextDouble} has the same: 53 bits, the largest number of them that a double below 1 holds evenly. */
    private static final double UNIT = 0x1p-53;

    private final int vocabulary;
    private final String source;
    private final float[] logits;
    private final float[] probabilities;
    private final Tensor scores;
    private final Tensor shares;
    private final Tensor logSum = Tensor.of(new float[1]);
    private final int[] heap;
    /** Tokens that are still in the heap. */
    private int size;

    private final int[] words = new int[4];
    private double logSumExp;
    /** The options of the last temperature, since options are objects. */
    private AttentionOptions scaled = AttentionOptions.DEFAULT.withScale(1);

    private double temperature = 1;

    /** Creates a sampler for rows of so many logits. */
    Sampler(int vocabulary) {
        this(vocabulary, "the model's weights");
    }

    /**
     * Creates a sampler for rows of so many logits.
     *
     * @param source of the logits, for errors
     */
    Sampler(int vocabulary, String source) {
        this.vocabulary = vocabulary;
        this.source = source;
        logits = new float[vocabulary];
        probabilities = new float[vocabulary];
        scores = Tensor.of(logits, 1, vocabulary);
        shares = Tensor.of(probabilities, 1, vocabulary);
        heap = new int[vocabulary];
    }

    /**
     * Chooses a token.
     *
     * @param row the model's logits, of which those of the vocabulary are read
     * @param seen the tokens of the text; read where there are penalties
     * @param index the index of the token in the text
     */
    int choose(Compute cpu, float[] row, SeenTokens seen, Sampling sampling, long index) {
        return choose(cpu, row, seen, sampling, index, TextConstraint.NONE);
    }

    /** Chooses a token that a constraint allows. */
    int choose(Compute cpu, float[] row, SeenTokens seen, Sampling sampling, long index, TextConstraint constraint) {
        requireFinite(row);
        System.arraycopy(row, 0, logits, 0, vocabulary);
        penalise(seen, sampling.penalties());
        constraint.apply(logits);
        if (sampling.temperature() == 0) {
            return largest();
        }
        share(cpu, sampling.temperature());
        return draw(sampling, uniform(sampling.seed(), index));
    }

    /** Computes probabilities from the logits. */
    private void share(Compute cpu, double newTemperature) {
        if (newTemperature != temperature) {
            temperature = newTemperature;
            scaled = AttentionOptions.DEFAULT.withScale(1 / temperature);
        }
        Softmax.forward(cpu, scores, shares, null, scaled);
    }

    /** Chooses a token by a number from 0 to 1, from the probabilities as they are. */
    int draw(Sampling sampling, double uniform) {
        boolean whole = sampling.topK() == 0 && sampling.topP() == 1 && sampling.minP() == 0;
        return whole ? drawFromAll(uniform) : drawFromMostProbable(sampling, uniform);
    }

    /** Computes the logarithm of the sum of exponentials of the model's own logits, for {@link #logProbability}. */
    void measure(Compute cpu, float[] row) {
        requireFinite(row);
        System.arraycopy(row, 0, logits, 0, vocabulary);
        Softmax.forward(cpu, scores, shares, logSum, AttentionOptions.DEFAULT);
        logSumExp = logSum.get(0);
    }

    /** Returns the logarithm of a token's probability in the row that was measured, without temperature and penalties. */
    double logProbability(float[] row, int token) {
        return row[token] - logSumExp;
    }

    /** Returns a copy of a row's logits of the vocabulary, or fails if they are not finite. */
    float[] finite(float[] row) {
        requireFinite(row);
        return Arrays.copyOf(row, vocabulary);
    }

    private void requireFinite(float[] row) {
        for (int id = 0; id < vocabulary; id++) {
            if (!(Math.abs(row[id]) <= Float.MAX_VALUE)) {
                throw new ArithmeticException("logits: " + row[id] + " for token " + id
                        + "; expected finite numbers, which " + source + " do not give");
            }
        }
    }

    private void penalise(SeenTokens seen, Penalties penalties) {
        if (penalties.countsAll()) {
            BitSet all = seen.all;
            for (int id = all.nextSetBit(0); id >= 0 && id < vocabulary; id = all.nextSetBit(id + 1)) {
                logits[id] = penalties.apply(logits[id]);
            }
        }
        if (penalties.countsGenerated()) {
            penaliseGenerated(seen, penalties);
        }
    }

    /** Counts in the array of the heap, which is filled later; a count is taken back when its token is done. */
    private void penaliseGenerated(SeenTokens seen, Penalties penalties) {
        TokenList tokens = seen.tokens;
        for (int i = seen.promptEnd; i < tokens.size(); i++) {
            heap[tokens.get(i)] = 0;
        }
        for (int i = seen.promptEnd; i < tokens.size(); i++) {
            heap[tokens.get(i)]++;
        }
        for (int i = seen.promptEnd; i < tokens.size(); i++) {
            int id = tokens.get(i);
            if (heap[id] > 0) {
                logits[id] = penalties.applyGenerated(logits[id], heap[id]);
                heap[id] = 0;
            }
        }
    }

    private int largest() {
        int best = 0;
        for (int id = 1; id < vocabulary; id++) {
            if (logits[id] > logits[best]) {
                best = id;
            }
        }
        return best;
    }

    private double uniform(long seed, long index) {
        Philox.draw(seed, index, 0, words);
        long bits = ((long) words[0] << 32 | words[1] & 0xffffffffL) >>> 11;
        return bits * UNIT;
    }

    private int drawFromAll(double uniform) {
        double total = 0;
        for (int id = 0; id < vocabulary; id++) {
            total += probabilities[id];
        }
        double left = uniform * total;
        int last = 0;
        for (int id = 0; id < vocabulary; id++) {
            if (probabilities[id] > 0) {
                last = id;
                left -= probabilities[id];
                if (left < 0) {
                    return id;
                }
            }
        }
        return last;
    }

    private int drawFromMostProbable(Sampling sampling, double uniform) {
        fillHeap();
        int most = sampling.topK() == 0 ? vocabulary : Math.min(sampling.topK(), vocabulary);
        // the sum of all, in another order, may be less than that of some
        double limit = sampling.topP() == 1 ? Double.POSITIVE_INFINITY : sampling.topP() * mass(most);
        double least = sampling.minP() * probabilities[ranked(0)];
        int count = 0;
        double kept = 0;
        while (count < most
                && kept < limit
                && probabilities[ranked(count)] >= least
                && probabilities[ranked(count)] > 0) {
            kept += probabilities[ranked(count)];
            count++;
        }
        double left = uniform * kept;
        for (int rank = 0; rank < count - 1; rank++) {
            left -= probabilities[ranked(rank)];
            if (left < 0) {
                return ranked(rank);
            }
        }
        return ranked(count - 1);
    }

    /** Returns the sum of the probabilities of the most probable tokens; of all tokens without ranking them. */
    private double mass(int most) {
        double mass = 0;
        for (int i = 0; i < most; i++) {
            mass += probabilities[most == vocabulary ? i : ranked(i)];
        }
        return mass;
    }

    /** Returns the token of a rank, 0 for the most probable one: takes tokens off the heap, behind which they stand in descending order. */
    private int ranked(int rank) {
        while (vocabulary - size <= rank) {
            size--;
            swap(0, size);
            sink(0, size);
        }
        return heap[vocabulary - 1 - rank];
    }

    private void fillHeap() {
        for (int id = 0; id < vocabulary; id++) {
            heap[id] = id;
        }
        size = vocabulary;
        for (int at = size / 2 - 1; at >= 0; at--) {
            sink(at, size);
        }
    }

    private void sink(int from, int end) {
        int at = from;
        int child = 2 * at + 1;
        while (child < end) {
            if (child + 1 < end && isBefore(heap[child + 1], heap[child])) {
                child++;
            }
            if (!isBefore(heap[child], heap[at])) {
                return;
            }
            swap(at, child);
            at = child;
            child = 2 * at + 1;
        }
    }

    private boolean isBefore(int id, int other) {
        return probabilities[id] > probabilities[other] || probabilities[id] == probabilities[other] && id < other;
    }

    private void swap(int i, int j) {
        int id = heap[i];
        heap[i] = heap[j];
        heap[j] = id;
    }
}

package io.multihead.decoder;

import io.multihead.internal.base.Philox;
import io.multihead.internal.kernel.VocabularyOps;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Chooses tokens from rows of logits, according to {@link Sampling}. Its arrays are reused, so that a call allocates nothing. One session
 * at a time uses a sampler.
 */
final class Sampler {
    /**
     * The step of random numbers, as in the JDK's {@code Random.nextDouble}. They have 53 bits, the most bits with which all doubles below
     * 1 are evenly spaced.
     */
    private static final double UNIT = 0x1p-53;

    private final int vocabulary;
    private final String source;
    /** Logits, and then probabilities. */
    private final float[] row;
    /** The largest element of each block of the row. */
    private final float[] maxima;

    private final float[] partial = new float[32];
    private final double[] sums = new double[16];
    private final RankedTokens ranked;
    private int[] counts = {};
    private final int[] words = new int[4];
    private double logSumExp;
    private float sum;

    /** Creates a sampler for rows of a number of logits. */
    Sampler(int vocabulary) {
        this(vocabulary, "the model's weights");
    }

    /**
     * Creates a sampler for rows of a number of logits.
     *
     * @param source the source of the logits, for errors
     */
    Sampler(int vocabulary, String source) {
        this.vocabulary = vocabulary;
        this.source = source;
        row = new float[vocabulary];
        maxima = new float[VocabularyOps.blocks(vocabulary)];
        ranked = new RankedTokens(row, maxima);
    }

    /**
     * Chooses a token.
     *
     * @param logits the model's logits; only the logits of the vocabulary are read
     * @param seen the tokens of the text; read if there are penalties
     * @param index the index of the token in the text
     */
    int choose(float[] logits, SeenTokens seen, Sampling sampling, long index) {
        return choose(logits, seen, sampling, index, TextConstraint.NONE);
    }

    int choose(float[] logits, SeenTokens seen, Sampling sampling, long index, TextConstraint constraint) {
        Penalties penalties = sampling.penalties();
        boolean greedy = sampling.temperature() == 0;
        float scale = (float) (1 / sampling.temperature());
        if (penalties.countsAll() || penalties.countsGenerated() || constraint != TextConstraint.NONE) {
            requireFinite(VocabularyOps.scaled(logits, row, vocabulary, 1f, maxima), logits);
            penalize(seen, penalties);
            constraint.apply(row);
            if (greedy) {
                VocabularyOps.maxima(row, vocabulary, maxima);
                return largest(row);
            }
            VocabularyOps.scaled(row, row, vocabulary, scale, maxima);
        } else if (greedy) {
            requireFinite(VocabularyOps.maxima(logits, vocabulary, maxima), logits);
            return largest(logits);
        } else {
            requireFinite(VocabularyOps.scaled(logits, row, vocabulary, scale, maxima), logits);
        }
        share(sampling.temperature());
        return draw(sampling, uniform(sampling.seed(), index));
    }

    /** Computes probabilities from the logits, which have been divided by the temperature. */
    private void share(double temperature) {
        float max = maxima[largestBlock()];
        if (Float.isInfinite(max)) { // if all logits are -infinity, differences would be NaN
            throw new ArithmeticException("temperature: " + temperature
                    + " for logits that it makes infinite; expected a larger temperature, or 0 for greedy");
        }
        float sum = VocabularyOps.exponentials(row, vocabulary, max, partial);
        VocabularyOps.normalize(row, vocabulary, sum, maxima);
    }

    /** Chooses a token from the probabilities of all tokens, with a number from 0 to 1. */
    int draw(Sampling sampling, double uniform) {
        boolean whole = sampling.topK() == 0 && sampling.topP() == 1 && sampling.minP() == 0;
        return whole ? drawFromAll(uniform) : drawFromMostProbable(sampling, uniform);
    }

    /** Computes the logarithm of the sum of exponentials of the model's own logits, for {@link #logProbability}. */
    void measure(float[] logits) {
        requireFinite(VocabularyOps.scaled(logits, row, vocabulary, 1f, maxima), logits);
        float max = maxima[largestBlock()];
        sum = VocabularyOps.exponentials(row, vocabulary, max, partial);
        logSumExp = (float) (max + StrictMath.log(sum));
    }

    /** Returns the most probable tokens in the measured logits. Each measurement allows one call. */
    List<TokenProbability> mostProbable(float[] logits, int most) {
        VocabularyOps.normalize(row, vocabulary, sum, maxima);
        List<TokenProbability> found = new ArrayList<>();
        ranked.begin();
        for (int rank = 0; rank < most && ranked.has(rank); rank++) {
            int id = ranked.token(rank);
            found.add(new TokenProbability(id, logProbability(logits, id)));
        }
        ranked.end();
        return found;
    }

    /** Returns the logarithm of a token's probability in the measured logits, without temperature and penalties. */
    double logProbability(float[] logits, int token) {
        return logits[token] - logSumExp;
    }

    /** Returns a copy of the logits of the vocabulary, or fails if they are not finite. */
    float[] finite(float[] logits) {
        requireFinite(VocabularyOps.maxima(logits, vocabulary, maxima), logits);
        return Arrays.copyOf(logits, vocabulary);
    }

    private void requireFinite(boolean finite, float[] logits) {
        for (int id = 0; id < vocabulary && !finite; id++) {
            if (!Float.isFinite(logits[id])) {
                throw new ArithmeticException("logits: " + logits[id] + " for token " + id
                        + "; expected finite numbers, which " + source + " do not give");
            }
        }
    }

    private void penalize(SeenTokens seen, Penalties penalties) {
        if (penalties.countsAll()) {
            BitSet all = seen.all;
            for (int id = all.nextSetBit(0); id >= 0 && id < vocabulary; id = all.nextSetBit(id + 1)) {
                row[id] = penalties.apply(row[id]);
            }
        }
        if (penalties.countsGenerated()) {
            penalizeGenerated(seen, penalties);
        }
    }

    /** Applies the penalties of generated tokens. The count of a token is reset after the token was processed. */
    private void penalizeGenerated(SeenTokens seen, Penalties penalties) {
        TokenList tokens = seen.tokens;
        if (counts.length == 0) {
            counts = new int[vocabulary];
        }
        for (int i = seen.promptEnd; i < tokens.size(); i++) {
            counts[tokens.get(i)]++;
        }
        for (int i = seen.promptEnd; i < tokens.size(); i++) {
            int id = tokens.get(i);
            if (counts[id] > 0) {
                row[id] = penalties.applyGenerated(row[id], counts[id]);
                counts[id] = 0;
            }
        }
    }

    /** Returns the first token with the largest logit. */
    private int largest(float[] logits) {
        int block = largestBlock();
        return VocabularyOps.first(logits, vocabulary, block, maxima[block]);
    }

    private int largestBlock() {
        int best = 0;
        for (int block = 1; block < maxima.length; block++) {
            best = maxima[block] > maxima[best] ? block : best;
        }
        return best;
    }

    private double uniform(long seed, long index) {
        Philox.draw(seed, index, 0, words);
        long bits = ((long) words[0] << 32 | words[1] & 0xffffffffL) >>> 11;
        return bits * UNIT;
    }

    private int drawFromAll(double uniform) {
        double left = uniform * mass();
        int last = 0;
        for (int block = 0; block < maxima.length; block++) {
            if (maxima[block] > 0) {
                double mass = VocabularyOps.sum(row, vocabulary, block, sums);
                if (left < mass) {
                    return drawFromBlock(block, left);
                }
                last = block;
                left -= mass;
            }
        }
        // rounding may leave a rest after the last block
        return drawFromBlock(last, Double.POSITIVE_INFINITY);
    }

    /**
     * Chooses a token with a positive probability from a block, with a number from 0 to the sum of the block. For a larger number, the last
     * such token is chosen.
     */
    private int drawFromBlock(int block, double number) {
        double left = number;
        int last = 0;
        int from = block * VocabularyOps.BLOCK;
        for (int id = from; id < Math.min(vocabulary, from + VocabularyOps.BLOCK); id++) {
            if (row[id] > 0) {
                last = id;
                left -= row[id];
                if (left < 0) {
                    return id;
                }
            }
        }
        return last;
    }

    /** Returns the sum of all probabilities, block by block. */
    private double mass() {
        double mass = 0;
        for (int block = 0; block < maxima.length; block++) {
            mass += VocabularyOps.sum(row, vocabulary, block, sums);
        }
        return mass;
    }

    private int drawFromMostProbable(Sampling sampling, double uniform) {
        int most = sampling.topK() == 0 ? vocabulary : Math.min(sampling.topK(), vocabulary);
        // the sum of all probabilities, added in another order, may be less than the sum of some of them
        double limit = Double.POSITIVE_INFINITY;
        ranked.begin();
        if (sampling.topP() < 1) {
            limit = sampling.topP() * (most == vocabulary ? mass() : ranked.mass(most));
        }
        double least = sampling.minP() * ranked.probability(0);
        int count = 0;
        double kept = 0;
        while (count < most && kept < limit && ranked.has(count) && ranked.probability(count) >= least) {
            kept += ranked.probability(count);
            count++;
        }
        double left = uniform * kept;
        int rank = 0;
        while (rank < count - 1) {
            left -= ranked.probability(rank);
            if (left < 0) {
                break;
            }
            rank++;
        }
        int chosen = ranked.token(rank);
        ranked.end();
        return chosen;
    }
}
